import type { FrozenServer } from '#snapshots/format/format.ts';
import type { Admission, Caller } from './caller.ts';
import type { Rights } from './rights.ts';

/** Why a caller is refused, as a sentence for the reader of the client's log. */
export interface Refusal {
  readonly status: 401 | 429 | 503;
  readonly message: string;
  /** The sentence in the list of refusals, with details that the caller must not get. */
  readonly noted?: string;
  /** Seconds after which the client may retry. */
  readonly retry_after?: number;
}

/** A credential as it arrived: the token, and its SHA-256 in hex, the only form that is stored. */
export interface Credential {
  readonly token: string;
  readonly digest: string;
  /** The part of the requested endpoint's path after `/mcp`: a signed token is valid for one endpoint. */
  readonly path: string;
}

export type Passport = Readonly<Record<string, unknown>>;

/** How callers of one `auth_type` are authenticated. */
export interface Scheme {
  /** The caller of a remembered credential; null: `check` has to be called. */
  recall(credential: Credential, server: FrozenServer): Caller | null;
  check(credential: Credential, server: FrozenServer): Promise<Caller | Refusal> | Caller | Refusal;
  /**
   * Whether a check sends a request to another program, so that an address with too many failures is refused before the check.
   */
  readonly costly: boolean;
  /** Whether an admitted caller would still be admitted now. */
  holds(admitted: Admission, server: FrozenServer): boolean;
  /** What an admitted caller may see now; null: not known. Absent: its rights do not change. */
  readonly rights?: (admitted: Admission, server: FrozenServer) => Rights | null;
  /**
   * What admits an owner again on a host that did not see its token, as JSON; null: nothing does. It is no credential. Absent: every
   * host knows all owners.
   */
  readonly passport?: (admitted: Admission, server: FrozenServer) => Passport | null;
  /** The caller as it would be admitted now, with its current rights and values; null: it would not be admitted. */
  readonly readmit: (admitted: Admission, server: FrozenServer, passport: Passport | null) => Caller | null;
  /** The issuers from which clients can get tokens without help. @param local_issuer this host as an issuer. */
  readonly issuers?: (server: FrozenServer, local_issuer: string) => readonly string[];
  /** The scopes that a client requests from its issuer. @param path the part of the endpoint's path after `/mcp`. */
  readonly scopes?: (server: FrozenServer, path: string) => readonly string[];
}

/** The source and target address of a request; read only when needed. */
export interface RequestOrigin {
  readonly address: () => string;
  /** The origin that the client requested; null when it is not known. */
  readonly origin: () => string | null;
  /** Whether the installation's front port forwards the request. */
  readonly ours: () => boolean;
  /** The part of the endpoint's path after `/mcp`. */
  readonly path: string;
  /** The request uses the transport of 2024-11-05, which has a separate address. */
  readonly is_sse: boolean;
  /** For the log. */
  readonly request_id: string;
}

export const isCaller = (verdict: Caller | Refusal): verdict is Caller => 'owner' in verdict;

export const INVALID: Refusal = { status: 401, message: 'Unauthorized: the access token is not valid, or no longer valid.' };
