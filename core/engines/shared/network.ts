import type { Socket } from 'node:net';
import type { ConnectionSettings } from './source.ts';

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
