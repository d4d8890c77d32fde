import type { DnsCredentials } from '#core/contract/config.ts';
import type { Ask } from './ask.ts';
import { cloudflare } from './cloudflare.ts';
import { route53 } from './route53.ts';

/** A company that keeps the zone of a domain. */
export interface DnsProvider {
  /** Adds a TXT record; answers how to remove it, and when the provider's own servers have it. */
  add(name: string, value: string): Promise<AddedRecord>;
}

export interface AddedRecord {
  readonly zone: string;
  remove(): Promise<void>;
}

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

/** Names that may be the zone of a record, the longest first; never a top-level domain. */
export function zoneCandidates(record: string): string[] {
  const labels = record.split('.');
  return labels.slice(0, -1).map((_, index) => labels.slice(index).join('.'));
}
