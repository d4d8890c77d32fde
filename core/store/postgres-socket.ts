import { isIP, Socket } from 'node:net';
import { simpleQuery } from '#core/lib/postgres/messages.ts';
import { checkServerIdentity, connect as connectTls } from 'node:tls';

/** The target of a socket, in the form of the driver. */
export interface SocketTarget {
  readonly host: readonly string[];
  readonly port: readonly number[];
  readonly path?: string | false;
}

/** How `sslmode` of the URL is applied. `require` checks no certificate, as in every PostgreSQL client. */
export interface SocketTls {
  readonly mode: 'require' | 'verify-ca' | 'verify-full';
  /** PEM. Replaces the certificate authorities of the system. */
  readonly ca: string | null;
}

const CONNECT_MS = 3_000;
/**
 * The driver forgets a closed socket at once, and fails when it writes to it. Until the socket closes, the driver receives
 * errors.
 */
const CLOSE_AFTER_MS = 25;
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);
const OFFERED = 'S'.charCodeAt(0);
const READY = 'Z'.charCodeAt(0);
const ERROR = 'E'.charCodeAt(0);
/** The database answers each of these messages with one `READY`. */
const [QUERY, SYNC] = ['Q'.charCodeAt(0), 'S'.charCodeAt(0)];
const HEADER_BYTES = 5;
const STARTUP_HEADER_BYTES = 4;
const LARGEST_MESSAGE = 2 ** 30;

interface SocketOptions {
  readonly silence_ms: number;
  /** A statement that sets up the session after the login, before the driver uses it; null: none. */
  readonly setup: string | null;
}

/**
 * A connection that cannot hang: it opens within 3 s, and ends when a query gets no data for `silence_ms`, or when the data is not
 * PostgreSQL's protocol. Never rejects: the driver receives every fault as an error of the socket.
 */
export async function openPostgresSocket(target: SocketTarget, tls: SocketTls | null, options: SocketOptions): Promise<Socket> {
  try {
    const plain = await dial(target);
    return guard(tls === null ? plain : await secure(plain, target, tls), options);
  } catch (error) {
    const lost = guard(new Socket(), options);
    setImmediate(() => lost.destroy(error instanceof Error ? error : new Error(String(error))));
    return lost;
  }
}

function dial({ host, port, path }: SocketTarget): Promise<Socket> {
  const socket = path ? new Socket().connect(path) : new Socket().connect(port[0] ?? 5432, host[0] ?? 'localhost');
  socket.setNoDelay(true);
  socket.setKeepAlive(true, 30_000);
  return until(socket, 'connect', () => true).then(() => socket);
}

async function secure(plain: Socket, { host }: SocketTarget, { mode, ca }: SocketTls): Promise<Socket> {
  plain.write(SSL_REQUEST);
  const offered = await until(plain, 'data', (bytes) => Buffer.isBuffer(bytes) && bytes.length === 1 && bytes[0] === OFFERED);
  if (!offered) {
    plain.destroy();
    throw new Error('The metadata database does not offer TLS, but SVC_DATABASE_URL requires it.');
  }
  plain.removeAllListeners();
  const name = host[0] ?? '';
  const socket = connectTls({
    socket: plain,
    // An IP address is not a server name (RFC 6066, section 3).
    ...(isIP(name) === 0 ? { servername: name } : {}),
    ...(ca === null ? {} : { ca }),
    rejectUnauthorized: mode !== 'require',
    checkServerIdentity: (_, certificate) => (mode === 'verify-full' ? checkServerIdentity(name, certificate) : undefined),
  });
  await until(socket, 'secureConnect', () => true);
  return socket;
}

/** Waits for the first event of a kind. Rejects when the socket fails or the timeout ends. */
function until<T>(socket: Socket, event: string, read: (value: unknown) => T): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const take = (value: unknown) => resolve(read(value));
  const fail = (error?: Error) =>
    reject(error instanceof Error ? error : new Error('The metadata database closed the connection.'));
  const timer = setTimeout(
    () => socket.destroy(new Error(`The metadata database did not answer within ${CONNECT_MS} ms.`)),
    CONNECT_MS,
  );
  socket.on(event, take).on('error', fail).on('close', fail);
  return promise.finally(() => {
    clearTimeout(timer);
    socket.removeListener(event, take).removeListener('close', fail);
    // An error without a listener would end the process.
    if (socket.destroyed) return;
    socket.removeListener('error', fail);
  });
}

/** Wraps the socket for the driver, which receives an error before every close. */
function guard(socket: Socket, { silence_ms, setup }: SocketOptions): Socket {
  const emit = socket.emit.bind(socket) as (event: string, ...values: unknown[]) => boolean;
  const write = socket.write.bind(socket) as (...values: unknown[]) => boolean;
  const answered = createFraming([READY]);
  const refused = createFraming([ERROR]);
  const pending = createFraming([QUERY, SYNC], STARTUP_HEADER_BYTES);
  /** Pending responses. The first is the response to the startup message. */
  let owed = 1;
  let silence: ReturnType<typeof setTimeout> | undefined;
  let ended = false;
  /** The end of the login, which the driver receives once the session is set up. */
  let login: Buffer | null = null;
  let is_set_up = setup === null;
  const lost = (error?: unknown) => {
    clearTimeout(silence);
    return (
      socket.listenerCount('error') > 0 && emit('error', error ?? new Error('The connection to the metadata database was lost.'))
    );
  };
  /** Later statements, such as a rollback, do not extend the timeout. */
  const listen = () => {
    silence ??= setTimeout(
      () => socket.destroy(new Error(`The metadata database sent nothing for ${silence_ms} ms.`)),
      silence_ms,
    );
  };
  /** @param ready whether these bytes end the login, or the answer to the statement. */
  const setUp = (bytes: Buffer, ready: boolean): boolean => {
    const errors = refused(bytes)?.counted ?? 0;
    if (login === null && !ready) return emit('data', bytes);
    if (login === null) {
      login = bytes;
      owed += 1;
      listen();
      return write(simpleQuery(setup ?? ''));
    }
    if (errors > 0) {
      socket.destroy(new Error('The metadata database refused the time limits of the session.'));
      return false;
    }
    if (!ready) return true;
    is_set_up = true;
    return emit('data', login);
  };
  const intercepted: Readonly<Record<string, (...values: unknown[]) => boolean>> = {
    data(bytes) {
      const came = answered(bytes as Buffer);
      if (came === null) {
        socket.destroy(new Error('The server at the address of the metadata database does not speak its protocol.'));
        return false;
      }
      owed -= came.counted;
      clearTimeout(silence);
      silence = undefined;
      if (owed > 0 || came.last !== READY) listen();
      return is_set_up ? emit('data', bytes) : setUp(bytes as Buffer, came.counted > 0);
    },
    error: lost,
    close() {
      ended = true;
      lost();
      setTimeout(() => emit('close', false), CLOSE_AFTER_MS);
      return true;
    },
  };
  return Object.assign(socket, {
    emit: (event: string, ...values: unknown[]) => intercepted[event]?.(...values) ?? emit(event, ...values),
    write(...values: unknown[]) {
      if (ended || socket.destroyed) {
        setImmediate(lost);
        return true;
      }
      owed += pending(values[0] as Buffer)?.counted ?? 0;
      listen();
      return write(...values);
    },
  });
}

interface Followed {
  /** Number of messages of the counted types. */
  readonly counted: number;
  /** Type of the message that ends with these bytes. Null in the middle of a message. */
  readonly last: number | null;
}

/**
 * Follows the messages of the protocol (PostgreSQL 55.7). Null for bytes that are not part of the protocol.
 * @param header_bytes of the first message. The first message of a client has no type.
 */
function createFraming(counted_types: readonly number[], header_bytes = HEADER_BYTES): (bytes: Buffer) => Followed | null {
  const header = Buffer.alloc(HEADER_BYTES);
  let in_header = HEADER_BYTES - header_bytes;
  let in_body = 0;
  return (bytes) => {
    let counted = 0;
    for (let at = 0; at < bytes.length;) {
      if (in_body > 0) {
        const step = Math.min(in_body, bytes.length - at);
        in_body -= step;
        at += step;
        continue;
      }
      header[in_header++] = bytes[at++] ?? 0;
      if (in_header < HEADER_BYTES) continue;
      in_header = 0;
      in_body = header.readUInt32BE(1) - 4;
      if (in_body < 0 || in_body > LARGEST_MESSAGE) return null;
      if (counted_types.includes(header[0] ?? 0)) counted += 1;
    }
    return { counted, last: in_header === 0 && in_body === 0 ? (header[0] ?? null) : null };
  };
}
