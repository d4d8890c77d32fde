import type { CompactJWSHeaderParameters, JWTPayload } from 'jose';
import { ASYMMETRIC_ALGORITHMS, type JwtIssuer } from '#core/contract/settings/jwt-issuers.ts';
import { type Claims, type Identity, toIdentity } from '#core/query/identity.ts';
import { isSameAudience } from './requested-address.ts';
import { claimAt, type TokenRules, textsOf } from './token-checks.ts';

/** The checks for tokens of another issuer. */
export const foreignRules = (
  { issuer, algorithms, audience, required_claims }: JwtIssuer,
  keyOf: (header: CompactJWSHeaderParameters) => Promise<CryptoKey | null> | CryptoKey | null,
): TokenRules => ({
  issuer,
  algorithms: algorithms.length === 0 ? ASYMMETRIC_ALGORITHMS : algorithms,
  // Okta sends no type, Keycloak and Entra send JWT.
  types: ['at+jwt', 'jwt', ''],
  keyOf,
  isAudience: (name) => isSameAudience(name, audience),
  required: required_claims,
});

/** Claims for the client ID: RFC 9068, OpenID Connect Core section 2, Okta, Entra. */
const CLIENT_CLAIMS = ['client_id', 'azp', 'cid', 'appid'];
/** Claims for scopes: RFC 9068, Entra and Okta, Auth0. */
const SCOPE_CLAIMS = ['scope', 'scp', 'permissions'];

/** Reads the caller from a verified token of another issuer. */
export function foreignCaller(
  payload: JWTPayload,
  { scope_claim, groups_claim, name_claim }: JwtIssuer,
): { readonly claims: Claims; readonly identity: Identity; readonly scopes: readonly string[] } {
  // The payload was parsed from JSON.
  const claims = payload as Claims;
  const client = CLIENT_CLAIMS.map((name) => payload[name]).find((value) => typeof value === 'string');
  const scope_claims = scope_claim === null ? SCOPE_CLAIMS : [scope_claim];
  const named = claimAt(payload, name_claim);
  const identity = toIdentity(claims, {
    groups: isOverage(payload) ? [] : groupsOf(claimAt(payload, groups_claim)),
    client_id: typeof client === 'string' ? client : null,
  });
  return {
    claims,
    identity: { ...identity, name: typeof named === 'string' && named !== '' ? named : null },
    scopes: scope_claims.map((name) => textsOf(claimAt(payload, name))).find((scopes) => scopes.length > 0) ?? [],
  };
}

/** A group's name can contain spaces, so a string is a single group. */
const groupsOf = (value: unknown): string[] =>
  (typeof value === 'string' ? [value] : textsOf(value)).filter((name) => name !== '');

/** Entra omits the groups claim if there are too many and links to an API instead. The groups are unknown then. */
function isOverage({ _claim_names, hasgroups }: JWTPayload): boolean {
  const names = typeof _claim_names === 'object' && _claim_names !== null ? _claim_names : {};
  return 'groups' in names || hasgroups === true || hasgroups === 'true';
}
