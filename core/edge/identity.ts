import type { Until } from '#core/contract/deploy/control.ts';

/** Access tokens of signed-in people: limits, scopes and claims. */

/** ECDSA with P-256 (RFC 7518): a host can verify with it but not sign. */
export const ACCESS_TOKEN_ALGORITHM = 'ES256';

/** One day, the maximum of `oauth_access_minutes`. */
export const LONGEST_TOKEN_MS = 24 * 3_600_000;

/** Maximum characters of an access token, for issuing and for checking; headers can have 16 KiB. */
export const LONGEST_ACCESS_TOKEN = 12_288;

/** The scope for everything that a person can use. Clients request it at sign-in; a token that grants it has an empty scope. */
export const EVERYTHING = 'mcp';

/** Claims of an access token (RFC 9068), beside `iss`, `iat`, `exp` and `jti`. */
export interface AccessTokenClaims {
  /** The resource that the client requested. */
  readonly aud: string;
  /** The person's id. */
  readonly sub: string;
  readonly client_id: string;
  /** Granted scopes, separated by spaces; may be empty. */
  readonly scope: string;
  readonly groups: readonly string[];
  /** ID of the grant. */
  readonly grant: string;
  /** Number of changes of `ended` when the token was issued. */
  readonly seq: number;
  readonly name?: string;
  readonly email?: string;
}

/**
 * Whether a token was issued after an end, so that it stays valid. `seq` is the database's order, for servers whose clocks
 * differ.
 */
export const isIssuedAfter = ({ iat, seq }: { readonly iat: number; readonly seq: number }, until: Until): boolean =>
  iat > until.before && seq >= until.seq;
