import * as v from 'valibot';
import { textBetween } from '../fields.ts';
import { HttpUrl, IssuerUrl } from './setting-values.ts';

/** Signatures of RFC 7518 and RFC 9864 that whoever verifies cannot make. */
export const ASYMMETRIC_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const;

export const MOST_ISSUERS = 10;
const MOST_CLAIMS = 20;
const ClaimPath = textBetween(1, 255);

/** One server whose access tokens count with `auth_type` jwt. */
export const JwtIssuer = v.strictObject({
  issuer: v.pipe(IssuerUrl, v.description('Exactly as in the `iss` claim')),
  jwks_url: v.pipe(
    v.optional(v.nullable(HttpUrl), null),
    v.description('Where the public keys are; null reads it from the metadata of the issuer'),
  ),
  audience: v.pipe(textBetween(1, 2_048), v.description('Every token must have it in `aud`')),
  algorithms: v.pipe(
    v.optional(v.pipe(v.array(v.picklist(ASYMMETRIC_ALGORITHMS)), v.maxLength(ASYMMETRIC_ALGORITHMS.length)), () => []),
    v.description('Accepted signature algorithms; empty accepts every asymmetric one'),
  ),
  scope_claim: v.pipe(
    v.optional(v.nullable(ClaimPath), null),
    v.description('Claim with the scopes; null takes the first of scope, scp and permissions'),
  ),
  groups_claim: v.pipe(
    v.optional(ClaimPath, 'groups'),
    v.description('Claim with the groups, or a path such as realm_access.roles'),
  ),
  name_claim: v.pipe(v.optional(ClaimPath, 'name'), v.description('Claim with the name of the person')),
  required_claims: v.pipe(
    v.optional(
      v.pipe(
        v.record(ClaimPath, textBetween(1, 1_024)),
        v.check((claims) => Object.keys(claims).length <= MOST_CLAIMS, `must have at most ${MOST_CLAIMS} claims`),
      ),
      () => ({}),
    ),
    v.description('Claims that must have a value, or contain it in a list'),
  ),
});
export type JwtIssuer = v.InferOutput<typeof JwtIssuer>;

export const JwtIssuers = v.pipe(
  v.array(JwtIssuer),
  v.maxLength(MOST_ISSUERS),
  v.check((issuers) => new Set(issuers.map(({ issuer }) => issuer)).size === issuers.length, 'must name each issuer once'),
);
