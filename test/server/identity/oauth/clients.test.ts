import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { digestOf } from '#core/lib/random-token.ts';
import { type Authority, createAuthority } from '#test/support/certificates.ts';
import { WAITS } from '#core/platform/platform.ts';
import { cachedDocument } from '#core/identity/oauth/clients/documents.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { asked, type Browser, createBrowser, exchanged, post, refreshed, tokens, toQuery } from '#test/support/sign-in.ts';

describe('requests of real clients, as they are documented', () => {
  let t: TestApp;
  let ada: Browser;
  beforeAll(async () => {
    t = await testApp();
    await t.signIn();
    ada = createBrowser(t);
    await ada.signIn();
  });
  afterAll(() => t.close());

  const KNOWN: readonly [string, string, string, string][] = [
    ['Claude', 'https://claude.ai/oauth/mcp-oauth-client-metadata', 'https://claude.ai/api/mcp/auth_callback', 'claude.ai'],
    ['Claude', 'https://claude.ai/oauth/mcp-oauth-client-metadata', 'https://claude.com/api/mcp/auth_callback', 'claude.ai'],
    ['Claude Code', 'https://claude.ai/oauth/claude-code-client-metadata', 'http://localhost:51234/callback', 'claude.ai'],
    ['ChatGPT', 'https://chatgpt.com/oauth/client.json', 'https://chatgpt.com/connector_platform_oauth_redirect', 'chatgpt.com'],
    ['ChatGPT', 'https://chatgpt.com/oauth/abc_1/client.json', 'https://chatgpt.com/connector/oauth/abc_1', 'chatgpt.com'],
    ['Codex', 'https://chatgpt.com/oauth/codex/client.json', 'http://127.0.0.1:1455/callback', 'chatgpt.com'],
    ['Visual Studio Code', 'https://vscode.dev/oauth/client-metadata.json', 'http://127.0.0.1:33418/', 'vscode.dev'],
    ['Visual Studio Code', 'https://vscode.dev/oauth/client-metadata.json', 'http://127.0.0.1:60123/', 'vscode.dev'],
    ['Visual Studio Code', 'https://vscode.dev/oauth/client-metadata.json', 'https://vscode.dev/redirect', 'vscode.dev'],
    ['GitHub Copilot CLI', 'https://github.com/copilot/cli/client-metadata.json', 'http://127.0.0.1:4793/', 'github.com'],
    ['Grok', 'https://grok.com/oauth/mcp-client.json', 'https://grok.com/connectors-oauth-exchange-code/', 'grok.com'],
  ];
  test.each(KNOWN)('%s signs in with its document, which ships here', async (name, client_id, redirect_uri, host) => {
    const { request } = await ada.authorize({ client_id, redirect_uri });
    const { body } = await ada.send('GET', `/api/v1/oauth/requests/${request}`);
    expect(body['client']).toEqual({ client_id, name, kind: 'known', host, trusted: false });
    const { status } = await tokens(t, ada, { client_id, redirect_uri }, { client_id, redirect_uri });
    expect(status).toBe(200);
  });

  const REGISTERED: readonly [string, readonly string[], string, object][] = [
    [
      'Cursor',
      [
        'cursor://anysphere.cursor-mcp/oauth/callback',
        'https://www.cursor.com/agents/mcp/oauth/callback',
        'http://localhost:8787/callback',
      ],
      'cursor://anysphere.cursor-mcp/oauth/callback',
      { state: undefined },
    ],
    [
      'Claude',
      ['https://claude.ai/api/mcp/auth_callback'],
      'https://claude.ai/api/mcp/auth_callback',
      { scope: 'offline_access' },
    ],
    ['Gemini CLI', ['http://localhost:7777/oauth/callback'], 'http://localhost:41999/oauth/callback', {}],
    [
      'mcp-remote',
      ['http://localhost:3334/oauth/callback'],
      'http://localhost:3334/oauth/callback',
      { scope: 'openid email profile' },
    ],
    [
      'Mistral',
      ['https://callback.mistral.ai/v1/integrations_auth/oauth2_callback'],
      'https://callback.mistral.ai/v1/integrations_auth/oauth2_callback',
      { resource: 'http://localhost:8080/mcp/' },
    ],
    [
      'Perplexity',
      ['https://www.perplexity.ai/rest/connections/oauth_callback'],
      'https://www.perplexity.ai/rest/connections/oauth_callback',
      {},
    ],
    ['VS Code', ['http://127.0.0.1:33418', 'https://vscode.dev/redirect'], 'http://127.0.0.1:50505/', {}],
  ];
  test.each(REGISTERED)('%s registers itself and signs in', async (client_name, redirect_uris, redirect_uri, more) => {
    const registered = await t.request('POST', '/oauth/register', {
      anonymous: true,
      body: {
        client_name,
        redirect_uris,
        grant_types: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_method: 'client_secret_post',
        application_type: 'native',
      },
    });
    expect([registered.status, registered.body['redirect_uris']]).toEqual([201, redirect_uris]);
    const client_id = String(registered.body['client_id']);
    const { request } = await ada.authorize({ client_id, redirect_uri, ...more });
    const { body } = await ada.send('GET', `/api/v1/oauth/requests/${request}`);
    expect(body['client']).toMatchObject({ name: client_name, kind: 'registration', host: null });
    const answer = await post(
      t,
      '/oauth/token',
      exchanged(await ada.code({ client_id, redirect_uri, ...more }), { client_id, redirect_uri }),
    );
    expect(answer.status).toBe(200);
  });
});

describe('a metadata document', () => {
  const CLIENT = 'https://client.example.test/oauth/client.json';
  const REDIRECT = 'https://client.example.test/callback';
  let t: TestApp;
  let ada: Browser;
  let authority: Authority;
  let server: ReturnType<typeof Bun.serve>;
  let answer: (request: Request) => Response | Promise<Response>;
  let fetched = 0;
  const waits = { ...WAITS };
  const document = (more: object = {}) => ({ client_id: CLIENT, client_name: 'A client', redirect_uris: [REDIRECT], ...more });
  const json = (value: unknown, init: ResponseInit = {}) => Response.json(value, init);
  beforeAll(async () => {
    authority = await createAuthority('clients');
    server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      tls: await authority.issue('DNS:client.example.test', 'DNS:other.example.test'),
      fetch(request) {
        fetched++;
        return answer(request);
      },
    });
    t = await testApp({ SVC_TRUSTED_PROXIES: '192.0.2.1' }, undefined, {
      waits,
      fetch_document: (url, { headers, signal }) => {
        const { pathname, hostname } = new URL(url);
        return fetch(`https://127.0.0.1:${server.port}${pathname}`, {
          headers: { ...headers, host: hostname },
          signal,
          redirect: 'manual',
          tls: { ca: authority.ca, serverName: hostname },
        });
      },
    });
    await t.signIn();
    ada = createBrowser(t);
    await ada.signIn();
  });
  beforeEach(() => {
    fetched = 0;
    t.advance(25 * 3_600_000);
    answer = () => json(document());
  });
  afterAll(async () => {
    await t.close();
    await server.stop(true);
    await authority.remove();
  });
  const begin = async (more = {}) => (await ada.authorize({ client_id: CLIENT, redirect_uri: REDIRECT, ...more })).request;

  test('names its client, whose host is shown', async () => {
    await ada.signIn();
    const request = await begin();
    const { body } = await ada.send('GET', `/api/v1/oauth/requests/${request}`);
    expect(body).toMatchObject({
      client: { name: 'A client', kind: 'document', host: 'client.example.test' },
      redirect_host: 'client.example.test',
    });
  });

  test('may use a subdomain of its host', async () => {
    const redirect_uri = 'https://app.client.example.test/callback';
    answer = () => json(document({ redirect_uris: [redirect_uri] }));
    expect(await begin({ redirect_uri })).not.toBe('');
  });

  test.each<[string, () => Response | Promise<Response>]>([
    ['another client_id inside', () => json(document({ client_id: 'https://client.example.test/oauth/other.json' }))],
    ['a redirect', () => new Response(null, { status: 302, headers: { location: CLIENT } })],
    ['an error', () => json(document(), { status: 404 })],
    ['no JSON', () => new Response('<html>')],
    ['more than 10 KiB', () => json(document({ padding: 'x'.repeat(11_000) }))],
    ['a shared secret', () => json(document({ client_secret: 'x' }))],
    ['no redirect addresses', () => json(document({ redirect_uris: [] }))],
    ['redirect addresses of another host alone', () => json(document({ redirect_uris: ['https://evil.example/cb'] }))],
    ['a host that begins with its own', () => json(document({ redirect_uris: ['https://client.example.test.evil.example/cb'] }))],
    ['a host that ends with its own', () => json(document({ redirect_uris: ['https://evil-client.example.test/cb'] }))],
    ['a redirect address that runs code', () => json(document({ redirect_uris: ['javascript:alert(1)'] }))],
  ])('with %s is refused by a page, in the same words', async (_, made) => {
    answer = made;
    const { status, body } = await ada.authorize({ client_id: CLIENT, redirect_uri: REDIRECT });
    expect(status).toBe(400);
    expect(String(body['text'])).toContain('This client is not known here.');
  });

  test('that does not come within its limit is refused', async () => {
    waits.client_document_ms = 300;
    answer = () => new Promise(() => {});
    expect(await begin()).toBe('');
    waits.client_document_ms = WAITS.client_document_ms;
  });

  test('is fetched once for many who ask at a time, kept as its headers say, and no failure is kept', async () => {
    answer = () => json(document(), { headers: { 'cache-control': 'max-age=3600' } });
    await Promise.all(Array.from({ length: 10 }, () => begin()));
    expect(fetched).toBe(1);
    t.advance(3_599_000);
    await begin();
    expect(fetched).toBe(1);
    t.advance(1_000);
    await begin();
    expect(fetched).toBe(2);
    t.advance(25 * 3_600_000);
    answer = () => json({}, { status: 500 });
    await begin();
    answer = () => json(document(), { headers: { 'cache-control': 'no-store' } });
    expect(await begin()).not.toBe('');
    expect(await begin()).not.toBe('');
    expect(fetched).toBe(5);
  });

  test('is not taken from Redis as somebody else wrote it', async () => {
    const client_id = 'https://other.example.test/oauth/forged.json';
    const key = `oauth:document:${digestOf(client_id)}`;
    const forged = JSON.stringify({ ...document(), client_id });
    await t.app.kv.set(key, forged, 60_000);
    expect(await cachedDocument(t.app, client_id)).toBeNull();
    await t.app.kv.set(key, t.app.keyring.seal(forged, 'elsewhere'), 60_000);
    expect(await cachedDocument(t.app, client_id)).toBeNull();
  });

  test('need not be there any more when a token is renewed or revoked', async () => {
    await ada.signIn();
    const query = { client_id: CLIENT, redirect_uri: REDIRECT };
    const { status, refresh } = await tokens(t, ada, query, query);
    expect(status).toBe(200);
    await t.app.kv.delete(`oauth:document:${digestOf(CLIENT)}`);
    answer = () => json({}, { status: 500 });
    fetched = 0;
    const renewed = await post(t, '/oauth/token', refreshed(refresh, { client_id: CLIENT }));
    expect(renewed.status).toBe(200);
    const token = String(renewed.body['refresh_token']);
    const other = await post(t, '/oauth/token', refreshed(token, { client_id: 'https://other.example.test/oauth/client.json' }));
    expect([other.status, other.body['error']]).toEqual([400, 'invalid_grant']);
    expect((await post(t, '/oauth/revoke', { token, client_id: CLIENT })).status).toBe(200);
    expect((await post(t, '/oauth/token', refreshed(token, { client_id: CLIENT }))).status).toBe(400);
    expect(fetched).toBe(0);
  });

  test('of random clients is fetched seldom for one network, which takes nothing from another', async () => {
    answer = () => json({}, { status: 404 });
    const stranger = createBrowser(t);
    for (let n = 0; n < 30; n++) {
      await stranger.authorize({ client_id: `https://other.example.test/oauth/${n}.json`, redirect_uri: REDIRECT });
    }
    expect(fetched).toBe(20);
    answer = () => json(document());
    const headers = { 'x-forwarded-for': '198.51.100.7' };
    const query = toQuery(asked({ client_id: CLIENT, redirect_uri: REDIRECT }));
    const elsewhere = await t.request('GET', `/oauth/authorize?${query}`, { anonymous: true, headers });
    expect([elsewhere.status, fetched]).toEqual([303, 21]);
  });

  test('is fetched from public addresses alone, even where databases may be anywhere', async () => {
    const other = await testApp({ SVC_ALLOW_PRIVATE_NETWORKS: 'true' });
    try {
      for (const client_id of [
        'https://127.0.0.1/client.json',
        'https://10.0.0.7/client.json',
        'https://169.254.169.254/latest/meta-data',
      ]) {
        const { status } = await createBrowser(other).authorize({ client_id, redirect_uri: REDIRECT });
        expect(status).toBe(400);
      }
      const reasons = other.log
        .filter(({ message }) => message.includes('metadata document'))
        .map(({ fields }) => String(fields['reason']));
      expect(reasons).toHaveLength(3);
      for (const reason of reasons) expect(reason).toMatch(/not public|never allowed|link-local/i);
    } finally {
      await other.close();
    }
  });
});
