import type { DnsCredentials } from '#core/contract/settings/setting-values.ts';
import type { Ask } from './ask.ts';
import { cloudflare } from './cloudflare.ts';
import type { DnsProvider } from './dns-provider.ts';
import { route53 } from './route53.ts';

/** Where the providers' interfaces are; tests put their own there. */
export interface ProviderUrls {
  readonly cloudflare: string;
  readonly route53: string;
}

export const PROVIDER_URLS: ProviderUrls = {
  cloudflare: 'https://api.cloudflare.com/client/v4',
  route53: 'https://route53.amazonaws.com/2013-04-01',
};

export const openDnsProvider = (credentials: DnsCredentials, urls: ProviderUrls, ask: Ask, signal: AbortSignal): DnsProvider =>
  'api_token' in credentials
    ? cloudflare({ url: urls.cloudflare, api_token: credentials.api_token, ask, signal })
    : route53({ url: urls.route53, credentials, ask, signal });
