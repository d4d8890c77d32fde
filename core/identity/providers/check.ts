import type { Platform } from '#core/platform/platform.ts';
import type { WithProviders } from '#core/identity/providers/metadata.ts';
import * as oauth from 'oauth4webapi';
import { CALLBACK_PATH, type ProviderCheck } from '#core/contract/identity/identity-providers.ts';
import { AppError } from '#core/errors.ts';
import { boundClient } from '#core/identity/oauth/clients/clients.ts';
import { signInRefusal } from '#core/identity/oauth/resources.ts';
import { clientAuth, clientOf } from './exchange.ts';
import { asFault } from './faults.ts';
import { endpointFault, type Metadata, otherIssuer, refusesPkce, requestOptions } from './metadata.ts';
import type { ProviderRow } from './stored.ts';
import { issuerOf, publicUrl } from '#core/settings/public-urls.ts';

type CheckName = ProviderCheck['check'];
type CheckResult = Omit<ProviderCheck, 'check'>;

const ORDER: readonly CheckName[] = [
  'address',
  'discovery',
  'issuer',
  'endpoints',
  'pkce',
  'algorithms',
  'keys',
  'scopes',
  'client',
  'assertions',
];
const passed = (message: string): CheckResult => ({ status: 'passed', message });
const warning = (message: string): CheckResult => ({ status: 'warning', message });
const failed = (message: string): CheckResult => ({ status: 'failed', message });

/** Accepted signature algorithms of ID tokens: only asymmetric ones. */
const ACCEPTED = /^(?:RS|PS|ES)(?:256|384|512)$|^EdDSA$|^Ed25519$/;

/**
 * Tests everything that a sign-in needs, without a person. After a failure, only the checks that do not depend on it still run.
 */
export async function checkConnection(
  app: Platform & WithProviders,
  provider: ProviderRow,
): Promise<{ success: boolean; checks: ProviderCheck[] }> {
  const found = new Map<CheckName, CheckResult>();
  const attempt = async (check: CheckName, work: () => Promise<CheckResult> | CheckResult): Promise<boolean> => {
    const outcome = await Promise.try(work).catch((error: unknown) => {
      if (!(error instanceof AppError)) throw error;
      return failed(error.detail);
    });
    found.set(check, outcome);
    return outcome.status !== 'failed';
  };
  await checkMetadata(app, provider, attempt);
  const order = ORDER.filter((check) => check !== 'assertions' || provider.accept_assertions);
  const checks = order.map((check) => ({
    check,
    ...(found.get(check) ?? { status: 'skipped' as const, message: 'Not checked because an earlier check failed.' }),
  }));
  return { success: checks.every(({ status }) => status === 'passed' || status === 'warning'), checks };
}

type RunCheck = (check: CheckName, work: () => Promise<CheckResult> | CheckResult) => Promise<boolean>;

async function checkMetadata(app: Platform & WithProviders, provider: ProviderRow, attempt: RunCheck): Promise<void> {
  const { issuer } = provider;
  const { ask } = app.providers;
  let answer: Response | undefined;
  const reached = await attempt('address', async () => {
    answer = await oauth
      .discoveryRequest(new URL(issuer), { algorithm: 'oidc', ...requestOptions(ask, issuer) })
      .catch((error: unknown) => Promise.reject(asFault('discovery', error)));
    return issuer.startsWith('https:')
      ? passed('The provider answers over https.')
      : warning('The provider answers over plain http. Anyone on the network between can read the client secret.');
  });
  if (!reached || answer === undefined) return;
  const document = answer;
  let metadata: Metadata | undefined;
  const read = await attempt('discovery', async () => {
    metadata = await readDocument(document);
    return passed('The metadata was read.');
  });
  if (!read || metadata === undefined) return;
  await checkPromises(app, provider, metadata, attempt);
}

/** Reads the document without checking its issuer, which is a separate check. */
async function readDocument(answer: Response): Promise<Metadata> {
  if (answer.status !== 200) {
    const detail = `The provider answered ${answer.status} at /.well-known/openid-configuration. Check the issuer.`;
    throw new AppError('provider_failed', detail);
  }
  const value: unknown = await answer.json().catch(() => null);
  const is_metadata = typeof value === 'object' && value !== null && 'issuer' in value && typeof value.issuer === 'string';
  if (!is_metadata) throw new AppError('provider_failed', 'What the provider answers is not metadata of OpenID Connect.');
  return value as Metadata;
}

async function checkPromises(
  app: Platform & WithProviders,
  provider: ProviderRow,
  metadata: Metadata,
  attempt: RunCheck,
): Promise<void> {
  const { issuer } = provider;
  await attempt('issuer', () => {
    if (metadata.issuer !== issuer) throw otherIssuer(metadata.issuer, issuer);
    return passed('The provider names itself exactly so.');
  });
  const usable = await attempt('endpoints', () => {
    const fault = endpointFault(metadata, issuer);
    return fault === null ? passed('Authorization, token and key addresses are there.') : failed(fault);
  });
  await attempt('pkce', () => {
    if (refusesPkce(metadata)) return failed('The provider does not support PKCE with S256, which is required.');
    return metadata.code_challenge_methods_supported === undefined
      ? warning('The provider does not say whether it supports PKCE with S256. Most do; a sign-in will show it.')
      : passed('PKCE with S256 is supported.');
  });
  await attempt('algorithms', () => {
    const accepted = listOf(metadata.id_token_signing_alg_values_supported ?? ['RS256']).filter((name) => ACCEPTED.test(name));
    return accepted.length === 0
      ? failed('The provider signs ID tokens with no algorithm that is accepted. Configure RS256 or ES256 there.')
      : passed(`ID tokens are signed with ${accepted.slice(0, 5).join(', ')}.`);
  });
  await attempt('scopes', () => checkScopes(provider, metadata));
  if (!usable) return;
  await attempt('keys', () => checkKeys(app, provider, metadata));
  await attempt('client', () => checkClient(app, provider, metadata));
  if (provider.accept_assertions) await attempt('assertions', () => checkAssertions(app, provider));
}

const listOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];

function checkScopes({ scopes }: ProviderRow, { scopes_supported }: Metadata): CheckResult {
  if (scopes_supported === undefined) return passed('The provider does not list its scopes.');
  const unknown = scopes.filter((scope) => !listOf(scopes_supported).includes(scope));
  return unknown.length === 0
    ? passed('All scopes are supported.')
    : warning(`The provider does not list ${unknown.join(', ')} among its scopes.`);
}

async function checkKeys(app: Platform & WithProviders, { issuer }: ProviderRow, metadata: Metadata): Promise<CheckResult> {
  const answer = await app.providers.ask(metadata.jwks_uri ?? '', { method: 'GET', headers: { accept: 'application/json' } });
  const value: unknown = answer.status === 200 ? await answer.json().catch(() => null) : null;
  const keys: readonly unknown[] =
    typeof value === 'object' && value !== null && 'keys' in value && Array.isArray(value.keys) ? value.keys : [];
  const signing = keys.filter(
    (key) =>
      typeof key === 'object' &&
      key !== null &&
      'kty' in key &&
      ['RSA', 'EC', 'OKP'].includes(String(key.kty)) &&
      (!('use' in key) || key.use === 'sig'),
  );
  if (signing.length === 0) return failed(`The provider has no signing keys at ${new URL(metadata.jwks_uri ?? issuer).host}.`);
  return passed(signing.length === 1 ? 'One signing key was read.' : `${signing.length} signing keys were read.`);
}

/** Whether a client could send assertions. Which ones the provider issues shows only in a sign-in. */
async function checkAssertions(app: Platform, { assertion_clients }: ProviderRow): Promise<CheckResult> {
  const clients = await Promise.all(assertion_clients.map((client_id) => boundClient(app, client_id)));
  const unknown = assertion_clients.filter((_, index) => clients[index] === null);
  if (unknown.length > 0) return warning(`No OAuth app has the client ID ${unknown.join(', ')}.`);
  const issuer = await issuerOf(app);
  const refusal = signInRefusal(issuer);
  return refusal === null ? passed(`The provider must issue assertions for the audience ${issuer}.`) : failed(refusal);
}

/** Sends an invalid code. A provider that knows the client refuses the code, others refuse the client (RFC 6749, section 5.2). */
async function checkClient(app: Platform & WithProviders, provider: ProviderRow, metadata: Metadata): Promise<CheckResult> {
  const client = clientOf(app, provider);
  const code = new URLSearchParams({ code: 'connection-test', state: 'connection-test', iss: metadata.issuer });
  const redirect_uri = `${(await publicUrl(app)) ?? 'http://localhost'}${CALLBACK_PATH}`;
  const options = requestOptions(app.providers.ask, provider.issuer);
  try {
    const params = oauth.validateAuthResponse(metadata, client, code, 'connection-test');
    const auth = await clientAuth(app, provider, metadata);
    const verifier = oauth.generateRandomCodeVerifier();
    const answer = await oauth.authorizationCodeGrantRequest(metadata, client, auth, params, redirect_uri, verifier, options);
    await oauth.processAuthorizationCodeResponse(metadata, client, answer);
  } catch (error) {
    if (error instanceof oauth.ResponseBodyError && error.error === 'invalid_grant') {
      return passed('The provider accepts client ID and client secret.');
    }
    const refused = error instanceof oauth.ResponseBodyError && /^(?:invalid|unauthorized)_client$/.test(error.error);
    if (refused || error instanceof oauth.WWWAuthenticateChallengeError) {
      return failed('The provider does not accept client ID and client secret.');
    }
    const fault = asFault('token', error);
    if (fault.code === 'private_network_blocked') return failed(fault.detail);
  }
  return warning('The provider’s answer does not tell whether it accepts client ID and client secret. A sign-in will show it.');
}
