import type { FrozenServer } from '#snapshots/format/format.ts';
import type { Admission, Caller } from './caller.ts';
import type { Rights } from './rights.ts';

/** Why a caller is not let in, as a sentence for the person who reads the client's log. */
export interface Refusal {
  readonly status: 401 | 429 | 503;
  readonly message: string;
  /** What the list of refusals says instead: the caller does not need to know so much. */
  readonly noted?: string;
  /** Seconds after which a repetition makes sense. */
  readonly retry_after?: number;
}

/** A credential as it arrived: the token, and its SHA-256 in hex, the only form that is ever kept. */
export interface Credential {
  readonly token: string;
  readonly digest: string;
  /** What stands after `/mcp` in the path of the endpoint that was asked: a signed token is for one of them. */
  readonly path: string;
}

/** One way of authorising: a value of `auth_type`. */
export interface Scheme {
  /** The caller, when that is known without any work. */
  recall(credential: Credential, server: FrozenServer): Caller | null;
  check(credential: Credential, server: FrozenServer): Promise<Caller | Refusal> | Caller | Refusal;
  /** Checking asks another program: an address that failed too often is refused before it, not after. */
  readonly costly: boolean;
  /** Whether one that was let in would be let in now. */
  holds(admitted: Admission, server: FrozenServer): boolean;
  /** What one that was let in may see now; null: nothing is known of it. Absent: it stays as it was. */
  readonly rights?: (admitted: Admission, server: FrozenServer) => Rights | null;
  /** Who issues its tokens, where clients can get them by themselves. @param own this host as an issuer. */
  readonly issuers?: (server: FrozenServer, own: string) => readonly string[];
  /** What a client asks its issuer for. @param path what stands after `/mcp` in the path of the endpoint. */
  readonly scopes?: (server: FrozenServer, path: string) => readonly string[];
}

/** Where a request comes from and went to; asked for only when needed. */
export interface RequestOrigin {
  readonly address: () => string;
  /** The origin that the client asked for; null when that is not known. */
  readonly origin: () => string | null;
  /** Whether our own server hands the request on. */
  readonly ours: () => boolean;
  /** What stands after `/mcp` in the path of the endpoint. */
  readonly path: string;
  /** It came by the transport of 2024-11-05, which has an address of its own. */
  readonly is_sse: boolean;
  /** For the log. */
  readonly request_id: string;
}

export const isCaller = (verdict: Caller | Refusal): verdict is Caller => 'owner' in verdict;

export const INVALID: Refusal = { status: 401, message: 'Unauthorized: the access token is not valid, or no longer valid.' };
