import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { connect, type PlatformSocket } from 'cloudflare:sockets';
import type { Sockets } from '#core/engines/shared/network.ts';
import { AppError } from '#core/errors.ts';

const CONNECT_MS = 10_000;

/** TCP of Workers: their `node:net` resolves no names, and cannot start TLS on an open socket. */
export const workersSockets: Sockets = {
  async dial(host, port, signal) {
    const hostname = host.replace(/^\[(.*)\]$/, '$1');
    const socket = connect({ hostname, port }, { secureTransport: 'starttls', allowHalfOpen: false });
    try {
      await settled(socket.opened, AbortSignal.any([signal, AbortSignal.timeout(CONNECT_MS)]));
    } catch (cause) {
      socket.close().catch(() => undefined);
      if (signal.aborted) throw signal.reason;
      const detail = `The connection to ${hostname}, port ${port} failed; check the host, the port and that the server is running.`;
      throw new AppError('database_unreachable', detail, { reason: 'failed', cause });
    }
    return asSocket(new WorkersSocket(socket, hostname));
  },
  async secure(socket, { host }, signal) {
    const plain: unknown = socket;
    if (!(plain instanceof WorkersSocket)) throw new Error('Only what was dialled here can be encrypted here.');
    try {
      const { secured, opened } = plain.startTls();
      await settled(opened, signal);
      return asSocket(secured);
    } catch (cause) {
      plain.destroy();
      if (signal.aborted) throw signal.reason;
      const detail = `The encrypted connection to ${host} could not be set up: Workers accept certificates of public authorities for the name of the host only.`;
      throw new AppError('database_unreachable', detail, { reason: 'tls_failed', cause });
    }
  },
};

/** A stream with the members of a socket that the driver uses. */
class WorkersSocket extends Duplex {
  readonly remoteAddress: string;
  readonly #socket: PlatformSocket;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  /** Whether TLS has taken over. */
  #handed_on = false;

  constructor(socket: PlatformSocket, host: string) {
    super({ allowHalfOpen: false });
    this.remoteAddress = host;
    this.#socket = socket;
    this.#reader = socket.readable.getReader();
    this.#writer = socket.writable.getWriter();
    socket.closed.catch(() => undefined);
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  startTls(): { readonly secured: WorkersSocket; readonly opened: Promise<unknown> } {
    this.#handed_on = true;
    this.#reader.releaseLock();
    this.#writer.releaseLock();
    const secure = this.#socket.startTls();
    return { secured: new WorkersSocket(secure, this.remoteAddress), opened: secure.opened };
  }

  override _read(): void {
    this.#reader.read().then(
      ({ value, done }) => {
        if (!this.#handed_on) this.push(done ? null : Buffer.from(value));
      },
      (error: unknown) => {
        if (!this.#handed_on) this.destroy(toError(error));
      },
    );
  }

  override _write(chunk: Uint8Array, _: string, done: (error?: Error) => void): void {
    this.#writer.write(chunk).then(
      () => done(),
      (error: unknown) => done(toError(error)),
    );
  }

  override _final(done: (error?: Error) => void): void {
    this.#writer.close().then(
      () => done(),
      () => done(),
    );
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (!this.#handed_on) this.#socket.close().catch(() => undefined);
    done(error);
  }
}

/** The driver uses only the members declared above, and the members of every stream. */
const asSocket = (socket: WorkersSocket): Socket => socket as unknown as Socket;

const toError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

function settled(work: Promise<unknown>, signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
    if (signal.aborted) abort();
  });
}
