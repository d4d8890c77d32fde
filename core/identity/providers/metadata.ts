import * as oauth from 'oauth4webapi';
import { AppError } from '#core/errors.ts';
import { createExpiringMap } from '#core/lib/recent-map.ts';
import type { DialPolicy } from '#core/engines/shared/source.ts';
import { type Ask, createProviderFetch } from './ask.ts';
import { asFault } from './faults.ts';
import { createProviderKeys, type ProviderKeys } from './keys.ts';

export type Metadata = oauth.AuthorizationServer;

/** Requests to identity providers. */
export interface ProviderLink {
  readonly ask: Ask;
  /** The provider's metadata, at most ten minutes old. Rejects with `provider_failed`. */
  metadata(issuer: string): Promise<Metadata>;
  readonly keyOf: ProviderKeys['keyOf'];
  /** Removes the cached document and keys, so that the next request reads them again. */
  forget(issuer: string): void;
}

const FRESH_MS = 600_000;
/** How long a failure is cached. */
const FAILED_MS = 5_000;
const REMEMBERED = 100;

export function createProviderLink(policy: DialPolicy, within_ms: number, ticks = () => performance.now()): ProviderLink {
  const ask = createProviderFetch(policy, within_ms);
  const known = createExpiringMap<Promise<Metadata>>(ticks, REMEMBERED);
  const metadata = (issuer: string): Promise<Metadata> => {
    const found = known.get(issuer);
    if (found !== undefined) return found;
    const reading = readMetadata(ask, issuer);
    known.set(issuer, reading, ticks() + FRESH_MS);
    reading.catch(() => known.set(issuer, reading, ticks() + FAILED_MS));
    return reading;
  };
  const keys = createProviderKeys(ask, async (issuer) => (await metadata(issuer)).jwks_uri ?? null, ticks);
  return {
    ask,
    metadata,
    keyOf: keys.keyOf,
    forget(issuer) {
      known.delete(issuer);
      keys.forget(issuer);
    },
  };
}

/** The options of every request to this provider. */
export const requestOptions = (ask: Ask, issuer: string) => ({
  // A provider in a private network may use http. `ask` checks the address.
  [oauth.allowInsecureRequests]: issuer.startsWith('http:'),
  [oauth.customFetch]: (url: string, { method, headers, body }: oauth.CustomFetchOptions<string, BodyInit | null | undefined>) =>
    ask(url, { method, headers, body }),
});

/** Reads and checks the discovery document (OpenID Connect Discovery 1.0, section 4). */
async function readMetadata(ask: Ask, issuer: string): Promise<Metadata> {
  let metadata: Metadata;
  try {
    const url = new URL(issuer);
    const answer = await oauth.discoveryRequest(url, { algorithm: 'oidc', ...requestOptions(ask, issuer) });
    metadata = await oauth.processDiscoveryResponse(url, answer);
  } catch (error) {
    throw asFault('discovery', error);
  }
  // The library compares normalised addresses. Tokens contain the exact text, by which people are found.
  if (metadata.issuer !== issuer) throw otherIssuer(metadata.issuer, issuer);
  const fault = endpointFault(metadata, issuer);
  if (fault !== null) throw new AppError('provider_failed', fault);
  return metadata;
}

export function otherIssuer(reported: string, issuer: string): AppError {
  const slash = reported.replace(/\/$/, '') === issuer.replace(/\/$/, '');
  return new AppError(
    'provider_failed',
    slash
      ? `The provider’s own issuer ${reported.endsWith('/') ? 'ends with a slash' : 'has no slash at its end'}. Enter it exactly so.`
      : 'The provider names another issuer in its metadata. Enter the issuer exactly as it stands there.',
    { reason: 'issuer' },
  );
}

const ENDPOINTS = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const;

/** Why the addresses of a provider cannot be used, as a sentence. Null when they can. */
export function endpointFault(metadata: Metadata, issuer: string): string | null {
  const allowed = issuer.startsWith('http:') ? ['http:', 'https:'] : ['https:'];
  const named = [...ENDPOINTS, ...(metadata.userinfo_endpoint === undefined ? [] : (['userinfo_endpoint'] as const))];
  for (const name of named) {
    const url = metadata[name];
    if (url === undefined) return `The provider’s metadata has no ${name}.`;
    if (!URL.canParse(url) || !allowed.includes(new URL(url).protocol)) return `${name} of the provider is not an https address.`;
  }
  return null;
}

/** Sluice requires S256. A provider that lists methods without it would ignore the challenge (RFC 7636). Entra lists none. */
export const refusesPkce = ({ code_challenge_methods_supported: methods }: Metadata): boolean =>
  Array.isArray(methods) && !methods.includes('S256');

export interface WithProviders {
  readonly providers: ProviderLink;
}
