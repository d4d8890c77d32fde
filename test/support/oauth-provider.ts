import type { OAuthClientProvider } from '@modelcontextprotocol/client';

type Metadata = OAuthClientProvider['clientMetadata'];
type Tokens = Parameters<OAuthClientProvider['saveTokens']>[0];
type Discovery = Parameters<NonNullable<OAuthClientProvider['saveDiscoveryState']>>[0];
type Information = Awaited<ReturnType<OAuthClientProvider['clientInformation']>>;

/** A client's memory, as the official clients want it; where it would open a browser it keeps the address. */
export function memoryProvider(redirect_uri: string, more: Partial<OAuthClientProvider> = {}) {
  const kept: {
    tokens?: Tokens | undefined;
    information?: Information;
    discovery?: Discovery;
    verifier: string;
    address?: URL | undefined;
  } = { verifier: '' };
  const metadata: Metadata = {
    client_name: 'Test client',
    redirect_uris: [redirect_uri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };
  const provider: OAuthClientProvider = {
    redirectUrl: redirect_uri,
    clientMetadata: metadata,
    state: () => 'state-of-the-client',
    clientInformation: () => kept.information,
    saveClientInformation(information) {
      kept.information = information;
    },
    tokens: () => kept.tokens,
    saveTokens(tokens) {
      kept.tokens = tokens;
    },
    redirectToAuthorization(address) {
      kept.address = address;
    },
    saveCodeVerifier(verifier) {
      kept.verifier = verifier;
    },
    codeVerifier: () => kept.verifier,
    saveDiscoveryState(discovery) {
      kept.discovery = discovery;
    },
    discoveryState: () => kept.discovery,
    invalidateCredentials(scope) {
      if (scope === 'all' || scope === 'tokens') delete kept.tokens;
      if (scope === 'all' || scope === 'client') delete kept.information;
    },
    ...more,
  };
  return { provider, kept };
}
