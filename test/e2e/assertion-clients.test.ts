import { afterAll, beforeAll, expect, test } from 'bun:test';
import {
  Client,
  type CrossAppAccessContext,
  CrossAppAccessProvider,
  discoverAndRequestJwtAuthGrant,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { freePort } from '#test/support/free-port.ts';
import { startProduct } from '#test/support/products.ts';
import type { Product } from '#test/support/programs.ts';
import { openTestProvider, type TestProvider } from '#test/support/test-provider.ts';
import { until, untilWithin } from '#test/support/until.ts';

const LIMIT_MS = 120_000;
const port = freePort();
const PUBLIC_URL = `http://127.0.0.1:${port}`;

interface App {
  readonly client_id: string;
  readonly client_secret: string;
}
interface Session {
  readonly id: string;
  readonly kind: string;
  readonly person: { readonly username: string };
}

let programs: Product;
let provider: TestProvider;
let app: App;
beforeAll(async () => {
  provider = await openTestProvider();
  provider.person = { sub: 'person-1', preferred_username: 'grace' };
  programs = await startProduct({ port, env: { SVC_PUBLIC_URL: PUBLIC_URL } });
  await programs.signIn();
  await programs.api('PATCH', '/server/config', { auth_type: 'oauth' });
  await programs.api('POST', '/deploy', {});
  const redirect_uris = ['https://desk.example.com/callback'];
  app = await programs.api<App>('POST', '/oauth-apps', { name: 'Desk', redirect_uris, confidential: true });
  const assertions = { accept_assertions: true, assertion_clients: [app.client_id], create_people: true };
  await programs.api('POST', '/identity-providers', { name: 'Company', ...provider.client, ...assertions });
  provider.assertion_client = app.client_id;
  await untilWithin(60_000, async () => (await fetch(programs.mcp_url, { method: 'POST' })).status === 401);
}, LIMIT_MS);
afterAll(async () => {
  await programs.stop();
  await provider.close();
}, LIMIT_MS);

const sessions = async () => (await programs.api<{ items: Session[] }>('GET', '/grants')).items;

/** The official client of a company's program, whose person signed in at the company. */
function companyClient(assertion?: (context: CrossAppAccessContext) => Promise<string>) {
  const authProvider = new CrossAppAccessProvider({
    assertion: assertion ?? fromProvider,
    clientId: app.client_id,
    clientSecret: app.client_secret,
    expectedIssuer: PUBLIC_URL,
  });
  const client = new Client({ name: 'desk', version: '1.0.0' });
  const connected = client.connect(new StreamableHTTPClientTransport(new URL(programs.mcp_url), { authProvider }));
  return { client, connected, authProvider };
}

async function fromProvider({ authorizationServerUrl, resourceUrl, scope, fetchFn }: CrossAppAccessContext): Promise<string> {
  const { client_id, client_secret } = provider.client;
  const { jwtAuthGrant } = await discoverAndRequestJwtAuthGrant({
    idpUrl: provider.issuer,
    audience: authorizationServerUrl,
    resource: resourceUrl,
    idToken: await provider.idToken(),
    clientId: client_id,
    clientSecret: client_secret,
    ...(scope !== undefined && { scope }),
    fetchFn,
  });
  return jwtAuthGrant;
}

const faultOf = (work: Promise<unknown>): Promise<string> => work.then(() => 'none', String);

test(
  'the official client signs in by an assertion, calls a tool, and is out when its session ends',
  async () => {
    const { client, connected, authProvider } = companyClient();
    await connected;
    const { tools } = await client.listTools();
    const [tool] = tools.filter(({ inputSchema }) => (inputSchema.required ?? []).length === 0);
    const called = await client.callTool({ name: tool?.name ?? '', arguments: {} });
    expect(called.isError ?? false).toBe(false);
    const tokens = authProvider.tokens();
    expect([tokens?.expires_in, tokens?.refresh_token]).toEqual([600, undefined]);

    const [session, ...others] = await sessions();
    expect(others).toEqual([]);
    expect(session).toMatchObject({ kind: 'assertion', person: { username: 'grace' }, client: { name: 'Desk', kind: 'app' } });
    const headers = { authorization: `Bearer ${tokens?.access_token}`, accept: 'application/json, text/event-stream' };
    const status = async () => (await fetch(programs.mcp_url, { method: 'POST', headers })).status;
    expect(await status()).not.toBe(401);

    // The company decided otherwise as well, so no new assertion helps.
    provider.assertion_client = null;
    await programs.api('DELETE', `/grants/${session?.id}`);
    await until(async () => (await status()) === 401);
    expect(await faultOf(client.callTool({ name: tool?.name ?? '', arguments: {} }))).toContain('The policy of the company');
    expect(await sessions()).toEqual([]);

    provider.assertion_client = app.client_id;
    await client.close();
    const later = companyClient();
    await later.connected;
    const again = await later.client.callTool({ name: tool?.name ?? '', arguments: {} });
    expect(again.isError ?? false).toBe(false);
    expect((await sessions()).map(({ id }) => id)).not.toContain(session?.id);
    await later.client.close();
  },
  LIMIT_MS,
);

test(
  'the official client is refused with an assertion that was used before',
  async () => {
    let first: string | undefined;
    const once = async (context: CrossAppAccessContext) => (first ??= await fromProvider(context));
    const { client, connected } = companyClient(once);
    await connected;
    await client.close();
    const replayed = companyClient(once);
    expect(await faultOf(replayed.connected)).toContain('The assertion was used before');
  },
  LIMIT_MS,
);
