import type { CompactJWSHeaderParameters, JWTPayload } from 'jose';
import { ASYMMETRIC_ALGORITHMS, type JwtIssuer } from '#core/contract/settings/jwt-issuers.ts';
import { type Claims, type Identity, toIdentity } from '#core/query/identity.ts';
import { isSameAudience } from './requested-address.ts';
import { claimAt, type TokenRules, textsOf } from './token-checks.ts';

/** What a token of another issuer must satisfy. */
export const foreignRules = (
  { issuer, algorithms, audience, required_claims }: JwtIssuer,
  keyOf: (header: CompactJWSHeaderParameters) => Promise<CryptoKey | null> | CryptoKey | null,
): TokenRules => ({
  issuer,
  algorithms: algorithms.length === 0 ? ASYMMETRIC_ALGORITHMS : algorithms,
  // Okta sends no type, Keycloak and Entra JWT.
  types: ['at+jwt', 'jwt', ''],
  keyOf,
  isAudience: (name) => isSameAudience(name, audience),
  required: required_claims,
});

/** Claims that name the client: RFC 9068, OpenID Connect Core section 2, Okta, Entra. */
const CLIENT_CLAIMS = ['client_id', 'azp', 'cid', 'appid'];
/** Where issuers put scopes: RFC 9068, Entra and Okta, Auth0. */
const SCOPE_CLAIMS = ['scope', 'scp', 'permissions'];

/** Who calls, as a verified token of another issuer says. */
export function foreignCaller(
  payload: JWTPayload,
  { scope_claim, groups_claim, name_claim }: JwtIssuer,
): { readonly claims: Claims; readonly identity: Identity; readonly scopes: readonly string[] } {
  // It came as JSON.
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

/** A group's name may hold spaces, so that a text is one group. */
const groupsOf = (value: unknown): string[] =>
  (typeof value === 'string' ? [value] : textsOf(value)).filter((name) => name !== '');

/** Entra leaves the groups out when there are too many, and says where to ask for them: nothing is known of them then. */
function isOverage({ _claim_names, hasgroups }: JWTPayload): boolean {
  const names = typeof _claim_names === 'object' && _claim_names !== null ? _claim_names : {};
  return 'groups' in names || hasgroups === true || hasgroups === 'true';
}
