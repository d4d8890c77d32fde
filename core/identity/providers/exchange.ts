import type { Platform } from '#core/platform/platform.ts';
import type { WithProviders } from '#core/identity/providers/metadata.ts';
import * as oauth from 'oauth4webapi';
import { AppError } from '#core/errors.ts';
import { readSecret } from '#core/lib/secrets.ts';
import { isPlainText } from '#core/process/issues.ts';
import { asFault, type Step } from './faults.ts';
import { claimAt } from '#core/edge/token-checks.ts';
import { type Claims, isOverage } from './claims.ts';
import { type Metadata, requestOptions } from './metadata.ts';
import { type ProviderRow, secretPath } from './stored.ts';

/** Maximum difference between the clocks of provider and server, in seconds. */
const TOLERANCE_S = 60;
/** OpenID Connect Core 1.0, section 2. */
const LONGEST_SUBJECT = 255;

/** For an imported provider. A request without the secret would only get an unspecific error. */
export const secretMissing = ({ name }: ProviderRow): AppError =>
  new AppError(
    'provider_failed',
    `The identity provider ${name} has no client secret yet, because it was imported without one. An administrator can enter it.`,
  );

/** How Sluice authenticates at the token endpoint. */
export async function clientAuth(
  { secrets }: Pick<Platform, 'secrets'>,
  provider: ProviderRow,
  metadata: Metadata,
): Promise<oauth.ClientAuth> {
  if (provider.client_secret === null) return oauth.None();
  if (provider.client_secret === 'missing') throw secretMissing(provider);
  const secret = await readSecret(provider.client_secret, secretPath(provider.id), secrets);
  // RFC 8414: Basic is the default when nothing is listed.
  const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  // A secret in the form is unambiguous, whereas some providers encode it for Basic in nonstandard ways.
  return methods.includes('client_secret_post') ? oauth.ClientSecretPost(secret) : oauth.ClientSecretBasic(secret);
}

export function clientOf({ clock }: Pick<Platform, 'clock'>, provider: ProviderRow): oauth.Client {
  return {
    client_id: provider.client_id,
    [oauth.clockSkew]: Math.round((clock().getTime() - Date.now()) / 1_000),
    [oauth.clockTolerance]: TOLERANCE_S,
  };
}

export interface Returned {
  /** The query of the redirect from the provider. */
  readonly params: URLSearchParams;
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly redirect_uri: string;
}

/**
 * Exchanges the code of the redirect for the claims of the person. Verifies state, `iss` (RFC 9207), the ID token's signature by
 * a key of this issuer, its iss, aud, azp, exp, iat and nonce (OpenID Connect Core 1.0, section 3.1.3.7), and that userinfo has
 * the same subject.
 */
export async function exchange(app: Platform & WithProviders, provider: ProviderRow, returned: Returned): Promise<Claims> {
  // A copy, because the library caches keys by this object, and the current keys are needed.
  const metadata = { ...(await app.providers.metadata(provider.issuer)) };
  const client = clientOf(app, provider);
  const options = requestOptions(app.providers.ask, provider.issuer);
  const during = async <T>(step: Step, work: () => T | Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw asFault(step, error);
    }
  };
  const { params, state, nonce, verifier, redirect_uri } = returned;
  const answer = await during('answer', () => oauth.validateAuthResponse(metadata, client, params, state));
  const auth = await clientAuth(app, provider, metadata);
  const { response, tokens } = await during('token', async () => {
    const response = await oauth.authorizationCodeGrantRequest(metadata, client, auth, answer, redirect_uri, verifier, options);
    const expected = { expectedNonce: nonce, requireIdToken: true };
    return { response, tokens: await oauth.processAuthorizationCodeResponse(metadata, client, response, expected) };
  });
  await during('keys', () => oauth.validateApplicationLevelSignature(metadata, response, options));
  const claims = oauth.getValidatedIdTokenClaims(tokens);
  if (claims === undefined || claims.sub === '' || claims.sub.length > LONGEST_SUBJECT || !isPlainText(claims.sub)) {
    throw new AppError('provider_failed', 'The ID token does not name the person who signs in.');
  }
  if (metadata.userinfo_endpoint === undefined || !lacks(provider, claims)) return claims;
  const report = await during('userinfo', async () => {
    const answered = await oauth.userInfoRequest(metadata, client, tokens.access_token, options);
    return oauth.processUserInfoResponse(metadata, client, claims.sub, answered);
  });
  return { ...report, ...claims };
}

/** Many providers send e-mail and groups only in userinfo. Groups beyond the provider's limit are not requested again. */
const lacks = ({ groups_claim }: ProviderRow, claims: Claims): boolean =>
  claims['email'] === undefined ||
  (groups_claim !== null && claimAt(claims, groups_claim) === undefined && !isOverage(claims, groups_claim));
