import net from 'node:net';
import type { Socket } from 'node:net';
import type { ConnectionSettings } from './connection-settings.ts';
import { AppError } from '#core/errors.ts';

/** Options of `fetch`, with TLS settings. */
export interface DialledInit extends Omit<RequestInit, 'redirect'> {
  readonly tls?: {
    /** The name to verify in the certificate, whatever address is dialled. */
    readonly serverName?: string;
    readonly rejectUnauthorized?: boolean;
    readonly checkServerIdentity?: () => undefined;
    readonly ca?: string;
    readonly cert?: string;
    readonly key?: string;
  };
}

/** Dials the address of the URL and sends the requested name in the Host header. Follows no redirect and does not decompress. */
export type DialledFetch = (url: string, init: DialledInit) => Promise<Response>;

/** Sockets that a platform opens by name. The platform resolves the name and applies its rules about private networks. */
export interface Sockets {
  /** Rejects with `database_unreachable`, or with the reason of `signal`. */
  readonly dial: (host: string, port: number, signal: AbortSignal) => Promise<Socket>;
  /** Encrypts a socket from `dial`. The platform fully verifies the certificate with its trusted authorities. */
  readonly secure: (socket: Socket, settings: Pick<ConnectionSettings, 'host'>, signal: AbortSignal) => Promise<Socket>;
}

/** The network of a platform that runs a bundle in an isolate. */
export interface Network {
  /** Follows no redirect. Rejects with `database_unreachable`, or with the reason of the request's signal. */
  readonly fetch: (url: URL, init: RequestInit) => Promise<Response>;
  /** Null: `node:net` opens sockets. */
  readonly sockets: Sockets | null;
}

/** Sends a request. In production it goes through the address guard. */
export type Send = (url: URL, init: DialledInit) => Promise<Response>;

/** A host name or an address alone. Anything that a URL or a driver would read as port, path or account is refused. */
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

/** Built from parts, so that a host cannot inject a port or a path. */
export function addressOf({ host, port, ssl_mode }: Pick<ConnectionSettings, 'host' | 'port' | 'ssl_mode'>): URL {
  const url = new URL(`${ssl_mode === 'disable' ? 'http' : 'https'}://${UNSET}`);
  const name = host ?? 'localhost';
  url.hostname = name.includes(':') && !name.startsWith('[') ? `[${name}]` : name;
  url.port = port === null ? '' : String(port);
  if (isHost(name) && url.hostname !== UNSET) return url;
  throw badHost(name);
}

type Certificates = Pick<ConnectionSettings, 'ssl_mode' | 'ssl_ca' | 'ssl_cert' | 'ssl_key'>;

/** Every call sends the password, so without an `ssl_mode` the certificate is fully verified, as a browser does. */
export function fetchTls({ ssl_mode, ssl_ca, ssl_cert, ssl_key }: Certificates): NonNullable<DialledInit['tls']> {
  return {
    rejectUnauthorized: ssl_mode !== 'require',
    ...(ssl_mode === 'verify-ca' ? { checkServerIdentity: () => undefined } : {}),
    ...(ssl_ca === null ? {} : { ca: ssl_ca }),
    ...(ssl_cert === null ? {} : { cert: ssl_cert }),
    ...(ssl_key === null ? {} : { key: ssl_key }),
  };
}
