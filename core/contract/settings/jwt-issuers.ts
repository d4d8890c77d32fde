import * as v from 'valibot';
import { textBetween } from '../fields.ts';
import { brief, field } from '../marks.ts';
import { HttpUrl, IssuerUrl } from './setting-values.ts';

/** Asymmetric signature algorithms of RFC 7518 and RFC 9864, with which a verifier cannot sign. */
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

/** An authorization server whose access tokens are accepted with `auth_type` jwt. */
export const JwtIssuer = brief(
  v.strictObject({
    issuer: field(IssuerUrl, {
      label: 'Issuer',
      help: 'Exactly as in the iss claim of its tokens.',
      control: 'url',
      placeholder: 'https://login.example.com/realms/shop',
    }),
    audience: field(textBetween(1, 2_048), {
      label: 'Audience',
      help: 'Every token must have it in aud.',
      control: 'mono',
      placeholder: 'https://mcp.example.com/mcp',
    }),
    algorithms: field(v.pipe(v.array(v.picklist(ASYMMETRIC_ALGORITHMS)), v.maxLength(ASYMMETRIC_ALGORITHMS.length)), {
      label: 'Algorithms',
      help: 'Accepted signature algorithms, such as RS256. Leave empty to accept every asymmetric one.',
      default: () => [],
    }),
    jwks_url: field(v.nullable(HttpUrl), {
      label: 'Key set URL',
      help: 'Where the public keys are. Leave empty to read it from the metadata of the issuer.',
      control: 'url',
      default: null,
    }),
    scope_claim: field(v.nullable(ClaimPath), {
      label: 'Scope claim',
      help: 'Claim with the scopes. Leave empty to take the first of scope, scp and permissions.',
      control: 'mono',
      default: null,
    }),
    groups_claim: field(ClaimPath, {
      label: 'Groups claim',
      help: 'Claim with the groups: a name, or a path such as realm_access.roles.',
      control: 'mono',
      default: 'groups',
    }),
    name_claim: field(ClaimPath, {
      label: 'Name claim',
      help: 'Claim with the name of the person.',
      control: 'mono',
      default: 'name',
    }),
    required_claims: field(
      v.pipe(
        v.record(ClaimPath, textBetween(1, 1_024)),
        v.check((claims) => Object.keys(claims).length <= MOST_CLAIMS, `must have at most ${MOST_CLAIMS} claims`),
      ),
      {
        label: 'Required claims',
        help: 'Claims that must have a value, or contain it in a list, such as tid=8f2c.',
        default: () => ({}),
      },
    ),
  }),
);
export type JwtIssuer = v.InferOutput<typeof JwtIssuer>;

export const JwtIssuers = v.pipe(
  v.array(JwtIssuer),
  v.maxLength(MOST_ISSUERS),
  v.check((issuers) => new Set(issuers.map(({ issuer }) => issuer)).size === issuers.length, 'must name each issuer once'),
);
