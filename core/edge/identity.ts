import type { Until } from '#core/contract/deploy/control.ts';

/** What the server tells hosts about the access tokens of signed-in people (contract section 15), and what these claim. */

/** ECDSA with P-256 (RFC 7518): a host that verifies cannot sign. */
export const ACCESS_TOKEN_ALGORITHM = 'ES256';

/** A day: the most that `oauth_access_minutes` allows. */
export const LONGEST_TOKEN_MS = 24 * 3_600_000;

/** Characters of an access token: whatever the server issues, it and the agent take, within the 16 KiB that headers may have. */
export const LONGEST_ACCESS_TOKEN = 12_288;

/** Scope of everything that a person may use. Clients ask for it at sign-in; a token that gives it names no scope at all. */
export const EVERYTHING = 'mcp';

/** Claims of an access token (RFC 9068), beside `iss`, `iat`, `exp` and `jti`. */
export interface AccessTokenClaims {
  /** The one resource that it is for, as the client asked for it. */
  readonly aud: string;
  /** The person's id. */
  readonly sub: string;
  readonly client_id: string;
  /** Granted scopes, separated by spaces; may be empty. */
  readonly scope: string;
  readonly groups: readonly string[];
  /** The grant that it came from. */
  readonly grant: string;
  /** How many changes of `ended` there were when it was issued. */
  readonly seq?: number;
  readonly name?: string;
  readonly email?: string;
}

/** Whether a token counts after an end: the order of the database decides where the clocks of two servers differ. @param seq null: as above. */
export const isIssuedAfter = ({ iat, seq }: { readonly iat: number; readonly seq: number | null }, until: Until): boolean =>
  iat > until.before && (seq ?? Number.POSITIVE_INFINITY) >= (until.seq ?? 0);
