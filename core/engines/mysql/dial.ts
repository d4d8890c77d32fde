import type { Socket } from 'node:net';
import type { Connection, ConnectionOptions } from 'mysql2';
import mysql from 'mysql2';
import { dialSocket, resolveTarget } from '../shared/dial.ts';
import { toConnectError } from './errors.ts';
import { LOGIN_BYTES, meterPackets, type PacketMeter } from './wire.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { DialPolicy } from '#core/engines/shared/source.ts';
import { verifiesCertificate } from '../shared/tls.ts';

/** Milliseconds for greeting, TLS and login together. */
const HANDSHAKE_MS = 10_000;
const DEFAULT_PORT = 3306;

export interface MysqlLink {
  readonly connection: Connection;
  readonly meter: PacketMeter;
}

export interface MysqlDialer {
  /** Returns a logged-in connection to the checked address. Rejects with `database_unreachable` or `private_network_blocked`. */
  dial(signal: AbortSignal): Promise<MysqlLink>;
}

/** A checked address, of which each `open` dials a socket. */
interface Reached {
  readonly host: string;
  readonly private: boolean;
  readonly open: () => Promise<Socket>;
}

type Tls = Exclude<ConnectionOptions['ssl'], string | undefined>;

export function createMysqlDialer(settings: ConnectionSettings, policy: DialPolicy): MysqlDialer {
  const host = settings.host ?? 'localhost';
  // All sessions share one object, and thus the parsed certificates.
  const tls = tlsOf(settings);
  /** True once the server has refused TLS. Private addresses are then dialled without TLS. */
  let plain = false;

  async function dial(signal: AbortSignal): Promise<MysqlLink> {
    const target = await reach(signal);
    const chosen = plain && target.private ? null : tls;
    try {
      return await login(settings, await target.open(), target.host, chosen, signal);
    } catch (error) {
      signal.throwIfAborted();
      const refused = error instanceof Error && 'code' in error && error.code === 'HANDSHAKE_NO_SSL_SUPPORT';
      // With a CA the server must present its certificate, so there is no fallback to plain text.
      if (!refused || settings.ssl_mode !== null || settings.ssl_ca !== null || !target.private) throw toConnectError(error);
    }
    plain = true;
    return login(settings, await target.open(), target.host, null, signal).catch((error: unknown) => {
      throw toConnectError(error);
    });
  }

  async function reach(signal: AbortSignal): Promise<Reached> {
    const port = settings.port ?? DEFAULT_PORT;
    const { tunnel } = policy;
    if (tunnel === undefined) {
      const target = await resolveTarget(host, port, policy, settings.database);
      return { host: target.host, private: target.private, open: () => dialSocket(target, signal) };
    }
    const again = async () => (await tunnel.dial(host, port, signal, settings.database)).socket;
    const { socket, private: is_private } = await tunnel.dial(host, port, signal, settings.database);
    let first: Socket | null = socket;
    const open = (): Promise<Socket> => {
      const unused = first;
      first = null;
      return unused === null ? again() : Promise.resolve(unused);
    };
    return { host: host.replace(/^\[(.*)\]$/, '$1'), private: is_private, open };
  }

  return { dial };
}

function tlsOf(settings: ConnectionSettings): Tls | null {
  const { ssl_mode, ssl_ca, ssl_cert, ssl_key } = settings;
  if (ssl_mode === 'disable') return null;
  const verify = verifiesCertificate(settings);
  return {
    rejectUnauthorized: verify,
    verifyIdentity: verify && ssl_mode !== 'verify-ca',
    minVersion: 'TLSv1.2',
    ...(ssl_ca === null ? {} : { ca: ssl_ca }),
    ...(ssl_cert === null ? {} : { cert: ssl_cert }),
    ...(ssl_key === null ? {} : { key: ssl_key }),
  };
}

function login(
  settings: ConnectionSettings,
  socket: Socket,
  host: string,
  tls: Tls | null,
  signal: AbortSignal,
): Promise<MysqlLink> {
  const options: ConnectionOptions & { disableEval: boolean } = {
    stream: () => socket,
    host,
    ...(settings.username === null ? {} : { user: settings.username }),
    ...(settings.password === null ? {} : { password: settings.password }),
    database: settings.database,
    ...(tls === null ? {} : { ssl: tls }),
    charset: 'utf8mb4',
    connectTimeout: HANDSHAKE_MS,
    // The driver compiles row parsers with `new Function`; a hostile server could run code that way (GHSA-fpw7-j2hg-69v5).
    disableEval: true,
    // Without PS_MULTI_RESULTS a server does not send the values of OUT parameters.
    flags: ['-LOCAL_FILES', '-MULTI_STATEMENTS', 'PS_MULTI_RESULTS'],
    multipleStatements: false,
    supportBigNumbers: true,
    dateStrings: true,
    // Applies to bound values only; results arrive as text.
    timezone: 'Z',
    jsonStrings: true,
    maxPreparedStatements: 200,
    connectAttributes: { program_name: 'sluice' },
  };
  return new Promise((resolve, reject) => {
    const connection = mysql.createConnection(options);
    const meter = meterPackets(connection);
    const settle = (how: () => void) => {
      signal.removeEventListener('abort', abort);
      connection.removeListener('error', fail);
      connection.removeListener('connect', succeed);
      // The running statement receives later errors. Without a listener they would end the process.
      connection.on('error', () => undefined);
      how();
    };
    const fail = (error: unknown) =>
      settle(() => {
        connection.destroy();
        socket.destroy();
        reject(error instanceof Error ? error : new Error(String(error)));
      });
    const abort = () => fail(signal.reason);
    const succeed = () => settle(() => resolve({ connection, meter }));
    meter.allow(LOGIN_BYTES, LOGIN_BYTES, () => fail(new Error('The server sent more data than a login needs.')));
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    connection.on('error', fail);
    connection.on('connect', succeed);
  });
}
