import type { ProviderCheck } from '#core/contract/identity/identity-providers.ts';

export const CHECK_WORDS: Readonly<Record<ProviderCheck['check'], string>> = {
  address: 'Address',
  discovery: 'Metadata',
  issuer: 'Issuer',
  endpoints: 'Endpoints',
  pkce: 'PKCE',
  algorithms: 'Algorithms',
  keys: 'Signing keys',
  scopes: 'Scopes',
  client: 'Client credentials',
};
