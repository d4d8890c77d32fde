import type { DialledFetch } from '#core/engines/shared/network.ts';
import type { Sending } from './sending.ts';

/** The other end of the connection that a request came over. */
export interface Peer {
  /** Number of the listener that accepted it; 0: none. */
  readonly listener: number;
  /** The address of the socket. */
  address(): string;
  /** Suspends the idle timeout of the connection. */
  hold(): void;
  /** Called once for every hold: the connection may idle out again. */
  release(): void;
}

export interface ServeOptions {
  readonly host: string;
  readonly port: number;
  /** Identifies the listener to its peers. */
  readonly number: number;
  readonly idle_seconds: number;
  readonly max_body_bytes: number;
  /** The path of nearly all requests, which then need no parsing of their URL. */
  readonly usual_path: string;
  /** @param path the path, if it is already known. */
  readonly fetch: (request: Request, peer: Peer, path?: string) => Response | Promise<Response>;
  readonly fault: (error: Error) => Response;
}

/** An open address. */
export interface BoundServer {
  readonly port: number;
  /** Accepts no new connections; with `now` it ends open ones. Resolves when all have ended. */
  stop(now: boolean): Promise<void>;
}

/** The functions that differ between the runtimes. */
export interface Runtime {
  /** Rejects when the address cannot be opened. */
  readonly serve: (options: ServeOptions) => Promise<BoundServer>;
  /** The body for a large answer. */
  readonly largeBody: (answer: string | Blob, sending: Sending) => string | Blob | ReadableStream<Uint8Array>;
  /** `fetch` to a checked address, with any Host header and certificate name. Absent: `fetch` can do that. */
  readonly dialledFetch?: DialledFetch;
  /** In hexadecimal. */
  readonly sha256: (text: string) => string;
  /** At most 53 bits of a fast hash, not for secrets. */
  readonly quickHash: (text: string) => number;
  /** @param hash a bcrypt hash. */
  readonly verifyPassword: (password: string, hash: string) => Promise<boolean>;
  /** Ids that sort by creation time. */
  readonly newRequestId: () => string;
  readonly standardInput: () => ReadableStream<Uint8Array>;
}
