import type { DialledFetch } from '#core/engines/shared/network.ts';
import type { Sending } from './sending.ts';

/** The other end of the connection that a request came over. */
export interface Peer {
  /** Number of the listener that took it; 0: none. */
  readonly listener: number;
  /** As the socket knows it. */
  address(): string;
  /** From now on it may wait in silence. */
  hold(): void;
  /** Once for every hold: its connection may idle out again. */
  release(): void;
}

export interface ServeOptions {
  readonly host: string;
  readonly port: number;
  /** Names the listener to its peers. */
  readonly number: number;
  readonly idle_seconds: number;
  readonly max_body_bytes: number;
  /** The path of nearly all requests, which need not be read out of their URL then. */
  readonly usual_path: string;
  /** @param path where it is known already. */
  readonly fetch: (request: Request, peer: Peer, path?: string) => Response | Promise<Response>;
  readonly fault: (error: Error) => Response;
}

/** An open address. */
export interface BoundServer {
  readonly port: number;
  /** Takes no new connections; with `now` it ends those that are open. Settles when all have ended. */
  stop(now: boolean): Promise<void>;
}

/** What the host needs of the program that runs it, and each of them has in its own way. */
export interface Runtime {
  /** Rejects when the address cannot be had. */
  readonly serve: (options: ServeOptions) => Promise<BoundServer>;
  /** What a large answer is sent as. */
  readonly largeBody: (answer: string | Blob, sending: Sending) => string | Blob | ReadableStream<Uint8Array>;
  /** `fetch` for an address that was checked: it is dialled whatever the Host header and the name in the certificate are. Absent: `fetch` does it. */
  readonly dialledFetch?: DialledFetch;
  /** In hexadecimal. */
  readonly sha256: (text: string) => string;
  /** At most 53 bits of a quick hash, which no secret depends on. */
  readonly quickHash: (text: string) => number;
  /** @param hash of bcrypt. */
  readonly verifyPassword: (password: string, hash: string) => Promise<boolean>;
  /** Ids that sort by the time of their making. */
  readonly newRequestId: () => string;
  readonly standardInput: () => ReadableStream<Uint8Array>;
}
