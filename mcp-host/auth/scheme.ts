import type { FrozenServer } from '#snapshots/format.ts';

/** The caller of one exchange; `owner` stands for the credential and binds sessions and streams to it. */
export interface Caller {
  readonly owner: string;
  /** For the request log: the first characters of an access token, or the name of an OAuth caller. */
  readonly token_prefix: string | null;
}

const NAME_LENGTH = 32;
/** The name of an OAuth caller as the request log keeps it; another server's word may hold anything. */
export const callerName = (name: unknown): string | null =>
  typeof name === 'string' && name !== '' ? name.slice(0, NAME_LENGTH).replaceAll(/[^\x20-\x7e]/g, '?') : null;

/** Why a caller is not let in, as a sentence for the person who reads the client's log. */
export interface Refusal {
  readonly status: 401 | 429 | 503;
  readonly message: string;
  /** Seconds after which a repetition makes sense. */
  readonly retry_after?: number;
}

/** A credential as it arrived: the token, and its SHA-256 in hex, the only form that is ever kept. */
export interface Credential {
  readonly token: string;
  readonly digest: string;
}

/** One way of authorising: a value of `auth_type`. */
export interface Scheme {
  /** The caller, when that is known without any work. */
  recall(credential: Credential, server: FrozenServer): Caller | null;
  check(credential: Credential, server: FrozenServer): Promise<Caller | Refusal> | Caller | Refusal;
  /** Checking asks another program: an address that failed too often is refused before it, not after. */
  readonly costly: boolean;
  /** Whether one that was let in would be let in now. */
  holds(owner: string, server: FrozenServer): boolean;
}

export const isCaller = (verdict: Caller | Refusal): verdict is Caller => 'owner' in verdict;

export const INVALID: Refusal = { status: 401, message: 'Unauthorized: the access token is not valid, or no longer valid.' };
