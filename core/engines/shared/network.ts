import net from 'node:net';
import type { Socket } from 'node:net';
import type { ConnectionSettings } from './connection-settings.ts';
import { AppError } from '#core/errors.ts';

/** What `fetch` takes, and how the server is to prove who it is. */
export interface DialledInit extends Omit<RequestInit, 'redirect'> {
  readonly tls?: {
    /** In the certificate, whatever address is dialled. */
    readonly serverName?: string;
    readonly rejectUnauthorized?: boolean;
    readonly checkServerIdentity?: () => undefined;
    readonly ca?: string;
    readonly cert?: string;
    readonly key?: string;
  };
}

/** Dials the address of the URL; the name that was asked for stands in the Host header. Follows no redirect and unpacks nothing. */
export type DialledFetch = (url: string, init: DialledInit) => Promise<Response>;

/** Sockets that a platform opens by name. It alone knows the address, and keeps to its own rules of what may be dialled. */
export interface Sockets {
  /** Rejects with `database_unreachable`, or as `signal` says. */
  readonly dial: (host: string, port: number, signal: AbortSignal) => Promise<Socket>;
  /** Encrypts what `dial` opened. The platform verifies the certificate in full, by the authorities that it knows. */
  readonly secure: (socket: Socket, settings: Pick<ConnectionSettings, 'host'>, signal: AbortSignal) => Promise<Socket>;
}

/** The network of a platform that runs one module in an isolate. */
export interface Network {
  /** Follows no redirect. Rejects with `database_unreachable`, or as the signal of the request says. */
  readonly fetch: (url: URL, init: RequestInit) => Promise<Response>;
  /** Null: sockets are those of `node:net`. */
  readonly sockets: Sockets | null;
}

/** Sends a request; the product's own goes through the guard of addresses. */
export type Send = (url: URL, init: DialledInit) => Promise<Response>;

/** A name or an address and nothing else: what a URL or a driver would read as port, path or account is refused. */
const HOST_NAME = /^[\p{L}\p{M}\p{N}_](?:[\p{L}\p{M}\p{N}_.-]*[\p{L}\p{M}\p{N}_.])?$/u;

export const isHost = (name: string): boolean => net.isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0 || HOST_NAME.test(name);

/** @param name as it was entered. */
export const badHost = (name: string): AppError =>
  malformed(
    name.includes('/')
      ? 'The host contains a slash. Enter the host name or the IP address alone, without scheme and path; Unix sockets are not supported.'
      : 'The host is not a host name or an IP address; enter it alone, without scheme, port, path or spaces.',
  );

export const malformed = (detail: string): AppError => new AppError('database_unreachable', detail, { reason: 'dns_failed' });

const UNSET = 'unset.invalid';

/** Built from parts: a host that holds more than a name must not choose port or path. */
export function addressOf({ host, port, ssl_mode }: Pick<ConnectionSettings, 'host' | 'port' | 'ssl_mode'>): URL {
  const url = new URL(`${ssl_mode === 'disable' ? 'http' : 'https'}://${UNSET}`);
  const name = host ?? 'localhost';
  url.hostname = name.includes(':') && !name.startsWith('[') ? `[${name}]` : name;
  url.port = port === null ? '' : String(port);
  if (isHost(name) && url.hostname !== UNSET) return url;
  throw badHost(name);
}

type Certificates = Pick<ConnectionSettings, 'ssl_mode' | 'ssl_ca' | 'ssl_cert' | 'ssl_key'>;

/** The password goes with every call, so without a choice the certificate is verified like a browser does. */
export function fetchTls({ ssl_mode, ssl_ca, ssl_cert, ssl_key }: Certificates): NonNullable<DialledInit['tls']> {
  return {
    rejectUnauthorized: ssl_mode !== 'require',
    ...(ssl_mode === 'verify-ca' ? { checkServerIdentity: () => undefined } : {}),
    ...(ssl_ca === null ? {} : { ca: ssl_ca }),
    ...(ssl_cert === null ? {} : { cert: ssl_cert }),
    ...(ssl_key === null ? {} : { key: ssl_key }),
  };
}
