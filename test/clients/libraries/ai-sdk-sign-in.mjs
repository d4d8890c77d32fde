import { auth, createMCPClient, UnauthorizedError } from '@ai-sdk/mcp';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

// Signs in by OAuth as the documentation of the AI SDK shows it, keeps what it gets in a file, and calls one tool.
const [url, file, name, args] = process.argv.slice(2);
const kept = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
const keep = (more) => writeFileSync(file, JSON.stringify(Object.assign(kept, more)));

const answered = Promise.withResolvers();
const callback = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch(request) {
    answered.resolve(new URL(request.url).searchParams);
    return new Response('Signed in.');
  },
});

const authProvider = {
  redirectUrl: `http://127.0.0.1:${callback.port}/callback`,
  clientMetadata: {
    client_name: 'AI SDK program',
    redirect_uris: [`http://127.0.0.1:${callback.port}/callback`],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  },
  tokens: () => kept.tokens,
  saveTokens: (tokens) => keep({ tokens }),
  clientInformation: () => kept.client,
  saveClientInformation: (client) => keep({ client }),
  isClientInformationDynamicallyRegistered: () => true,
  authorizationServerInformation: () => kept.server,
  saveAuthorizationServerInformation: (server) => keep({ server }),
  codeVerifier: () => kept.verifier,
  saveCodeVerifier: (verifier) => keep({ verifier }),
  state: () => crypto.randomUUID(),
  saveState: (state) => keep({ state }),
  storedState: () => kept.state,
  invalidateCredentials: (scope) =>
    keep({ ...(scope !== 'client' && { tokens: undefined }), ...(scope !== 'tokens' && { client: undefined }) }),
  redirectToAuthorization: (address) => console.log(`Sign in at ${address}`),
};

const open = () => createMCPClient({ transport: { type: 'http', url, authProvider } });
const client = await open().catch(async (error) => {
  if (!(error instanceof UnauthorizedError)) throw error;
  const answer = await answered.promise;
  await auth(authProvider, {
    serverUrl: url,
    authorizationCode: answer.get('code'),
    callbackState: answer.get('state'),
    callbackIssuer: answer.get('iss'),
  });
  return open();
});
const tools = await client.tools();
console.log(JSON.stringify(await tools[name].execute(JSON.parse(args), { toolCallId: '1', messages: [] })));
await client.close();
await callback.stop(true);
