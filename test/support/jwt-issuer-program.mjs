import { Provider } from 'oidc-provider';

/** A certified authorization server that issues JWT access tokens: `bun jwt-issuer-program.mjs <port> <client_secret> <audience>`. */
const [port = '0', client_secret = '', audience = ''] = process.argv.slice(2);

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{ client_id: 'reports', client_secret, redirect_uris: [], response_types: [], grant_types: ['client_credentials'] }],
  scopes: ['read'],
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: () => ({ scope: 'read', audience, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } } }),
    },
  },
  extraTokenClaims: () => ({ groups: ['data'] }),
});
provider.listen(Number(port), '127.0.0.1');
