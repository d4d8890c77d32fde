import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { memoryProvider } from '#test/support/oauth-provider.ts';
import { paced } from '#test/support/paced.ts';
import { type PersonBrowser, personBrowser } from '#test/support/person-browser.ts';
import { freePort } from '#test/support/free-port.ts';
import { type Product } from '#test/support/programs.ts';
import { untilWithin } from '#test/support/until.ts';
import { startProduct } from '#test/support/products.ts';

const INFO = { name: 'test', version: '1.0.0' };
const REDIRECT = 'http://127.0.0.1:45454/callback';
const LIMIT_MS = 120_000;
const ACCOUNT = { username: 'ada', password: 'correct horse' };

const port = freePort();
const PUBLIC_URL = `http://127.0.0.1:${port}`;
let programs: Product;
let browser: PersonBrowser;
beforeAll(async () => {
  programs = await startProduct({ port, env: { SVC_PUBLIC_URL: PUBLIC_URL } });
  await programs.signIn();
  await programs.api('PATCH', '/server/config', { auth_type: 'oauth' });
  await programs.api('POST', '/deploy', {});
  await untilWithin(60_000, async () => (await fetch(programs.mcp_url, { method: 'POST' })).status === 401);
  browser = await personBrowser(PUBLIC_URL, ACCOUNT);
}, LIMIT_MS);
afterAll(async () => {
  await programs.stop();
}, LIMIT_MS);

/** What the person does in the browser. @returns the answer to the client. */
async function consent(address: URL | undefined): Promise<URLSearchParams> {
  const answer = (await browser.consent(address ?? '')).searchParams;
  expect(answer.get('state')).toBe('state-of-the-client');
  return answer;
}

const isRefused = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => false,
    () => true,
  );
const grants = async () => (await programs.api<{ items: { id: string; client: { kind: string } }[] }>('GET', '/grants')).items;

describe.each([
  ['the deployed server', () => programs.mcp_url],
  ['the agent endpoint', () => `${PUBLIC_URL}/agent-mcp`],
])('%s', (_, address) => {
  test.each(['SDK v2', 'SDK v1'])(
    '%s signs in from the 401, calls a tool, refreshes, and is out when its grant ends',
    async (which) => {
      const url = new URL(address());
      const { provider, kept } = memoryProvider(REDIRECT);
      const open = () =>
        which === 'SDK v2'
          ? { client: new ModernClient(INFO), transport: new ModernTransport(url, { authProvider: provider }) }
          : { client: new LegacyClient(INFO), transport: new LegacyTransport(url, { authProvider: provider }) };
      const connect = async () => {
        const { client, transport } = open();
        await client.connect(transport);
        return client as LegacyClient;
      };
      const first = open();
      expect(await isRefused(first.client.connect(first.transport as never))).toBe(true);
      const answer = await consent(kept.address);
      if (first.transport instanceof ModernTransport) await first.transport.finishAuth(answer);
      else await first.transport.finishAuth(answer.get('code') ?? '');
      const client = await connect();
      const { tools } = await client.listTools();
      expect(tools.length).toBeGreaterThan(0);
      const [tool] = tools.filter(({ inputSchema }) => (inputSchema.required ?? []).length === 0);
      const called = await client.callTool({ name: tool?.name ?? '', arguments: {} });
      expect(called.isError ?? false).toBe(false);
      await client.close();

      // A token that counts no more is renewed without anybody being asked.
      const before = kept.tokens;
      kept.tokens = { ...kept.tokens, access_token: `${kept.tokens?.access_token}x`, token_type: 'Bearer' };
      kept.address = undefined;
      const again = await connect();
      expect((await again.listTools()).tools.length).toBe(tools.length);
      expect(kept.address).toBeUndefined();
      expect(kept.tokens?.access_token).not.toBe(before?.access_token);
      await again.close();

      const [grant] = await grants();
      expect(grant?.client.kind).toBe('registration');
      await programs.api('DELETE', `/grants/${grant?.id}`);
      const ended = performance.now();
      await untilWithin(60_000, async () => {
        const answer = await fetch(url, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${kept.tokens?.access_token}`,
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
          },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
        });
        await answer.body?.cancel();
        return answer.status === 401;
      });
      expect(performance.now() - ended).toBeLessThan(paced(2_000));
      const third = open();
      expect(await isRefused(third.client.connect(third.transport as never))).toBe(true);
      expect(kept.address).toBeDefined();
    },
    LIMIT_MS,
  );
});

test(
  'SDK v2 signs in with the document of a known client, without registering',
  async () => {
    const client_id = 'https://claude.ai/oauth/claude-code-client-metadata';
    const { provider, kept } = memoryProvider('http://localhost:45455/callback', { clientMetadataUrl: client_id });
    const url = new URL(programs.mcp_url);
    const first = new ModernTransport(url, { authProvider: provider });
    expect(await isRefused(new ModernClient(INFO).connect(first))).toBe(true);
    expect(kept.address?.searchParams.get('client_id')).toBe(client_id);
    await first.finishAuth(await consent(kept.address));
    const client = new ModernClient(INFO);
    await client.connect(new ModernTransport(url, { authProvider: provider }));
    expect((await client.listTools()).tools.length).toBeGreaterThan(0);
    await client.close();
    expect((await grants()).some(({ client: { kind } }) => kind === 'known')).toBe(true);
  },
  LIMIT_MS,
);

test.each(['SDK v2', 'SDK v1'])(
  '%s gets the toolsets of everyone and of the groups of the person, whose names it does not know',
  async (which) => {
    const { items } = await programs.api<{ items: { id: string; name: string }[] }>('GET', '/tools');
    for (const [name, groups, tool] of [
      ['products', [], 'search_products'],
      ['customers', ['desk'], 'get_customer'],
      ['sales', ['managers'], 'sales_by_category'],
    ] as const) {
      const tool_ids = items.filter((item) => item.name === tool).map(({ id }) => id);
      const include = { tags: [], connection_ids: [], tool_ids, resource_ids: [], prompt_ids: [] };
      const toolset = { name, title: name, description: name, include, groups };
      if (which === 'SDK v2') await programs.api('POST', '/toolsets', toolset);
    }
    const person = await programs.api<{ id: string }>('GET', '/auth/me');
    const { version } = await programs.api<{ version: number }>('GET', `/people/${person.id}`);
    await programs.api('PATCH', `/people/${person.id}`, { groups: ['desk'], version });
    await programs.api('POST', '/deploy', {});
    const url = new URL(programs.mcp_url);
    const { provider, kept } = memoryProvider(REDIRECT);
    const connect = async (client: ModernClient | LegacyClient) => {
      const is_modern = client instanceof ModernClient;
      const transport = is_modern
        ? new ModernTransport(url, { authProvider: provider })
        : new LegacyTransport(url, { authProvider: provider });
      if (await isRefused(client.connect(transport))) {
        const answer = await consent(kept.address);
        if (transport instanceof ModernTransport) await transport.finishAuth(answer);
        else await transport.finishAuth(answer.get('code') ?? '');
      }
    };
    const open = () => (which === 'SDK v2' ? new ModernClient(INFO) : new LegacyClient(INFO));
    await connect(open());
    expect(kept.address?.searchParams.get('scope')?.split(' ')).toContain('mcp');
    const client = open() as LegacyClient;
    await connect(client);
    expect((await client.listTools()).tools.map(({ name }) => name).sort()).toEqual(['get_customer', 'search_products']);
    await client.close();
  },
  LIMIT_MS,
);
