import type { ServerConfig } from '#core/contract/settings/config.ts';

export const AUTH_WORDS: Readonly<Record<ServerConfig['auth_type'], string>> = {
  none: 'None',
  bearer: 'Access token',
  oauth_credentials: 'OAuth client credentials',
  oauth_introspection: 'OAuth token introspection',
  jwt: 'Signed tokens of another issuer',
  oauth: 'Sign-in',
};

export const TRANSPORT_WORDS: Readonly<Record<ServerConfig['transport'], string>> = {
  http: 'Streamable HTTP',
  sse: 'HTTP, with SSE for older clients',
  stdio: 'Standard input and output',
};
