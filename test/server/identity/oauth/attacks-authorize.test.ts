import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readSettings } from '#core/settings/settings.ts';
import { resourceOf } from '#core/identity/oauth/resources.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { asked, type Browser, CALLBACK, createBrowser, post, toQuery } from '#test/support/sign-in.ts';
import { processorMs } from '#test/support/processor-time.ts';

let t: TestApp;
let ada: Browser;
beforeAll(async () => {
  t = await testApp();
  await t.signIn();
  ada = createBrowser(t);
  await ada.signIn();
});
afterAll(() => t.close());

const register = (body: object) => t.request('POST', '/oauth/register', { anonymous: true, body });
/** A page that goes nowhere. */
async function isPage(more: Parameters<typeof asked>[0]) {
  const { status, location, headers, body } = await ada.authorize(more);
  expect([status, location, headers.get('content-type')]).toEqual([400, '', 'text/html; charset=utf-8']);
  expect(String(body['text'])).not.toContain('<script');
  return String(body['text']);
}

describe('the redirect address (CVE-2025-4143)', () => {
  test.each([
    ['user info', 'http://user@127.0.0.1:7777/callback'],
    ['a host behind user info', 'http://127.0.0.1:7777@evil.example/callback'],
    ['a backslash', 'http://127.0.0.1:7777\\@evil.example/callback'],
    ['an encoded dot', 'http://127.0.0.1:7777/%2e/callback'],
    ['a dot segment', 'http://127.0.0.1:7777/x/../callback'],
    ['another path', 'http://127.0.0.1:7777/callback/'],
    ['another letter case', 'http://127.0.0.1:7777/Callback'],
    ['another scheme', 'https://127.0.0.1:7777/callback'],
    ['a query', 'http://127.0.0.1:7777/callback?x=1'],
    ['a fragment', 'http://127.0.0.1:7777/callback#x'],
    ['another loopback host', 'http://[::1]:7777/callback'],
    ['a host that begins alike', 'http://localhost.evil.example/callback'],
    ['port 0', 'http://127.0.0.1:0/callback'],
    ['a line break', 'http://127.0.0.1:7777/callback\n'],
    ['nothing', ''],
    ['javascript', 'javascript:alert(1)'],
  ])('with %s gets a page and no redirect', async (_, redirect_uri) => {
    await isPage({ redirect_uri });
  });

  test('that is missing or sent twice gets a page', async () => {
    await isPage({ redirect_uri: undefined });
    await isPage({ redirect_uri: [CALLBACK, CALLBACK] });
    await isPage({ state: ['a', 'b'] });
  });

  test('of a loopback client may have any port, also by the name localhost', async () => {
    for (const redirect_uri of ['http://127.0.0.1:1/callback', 'http://localhost:65535/callback', 'http://localhost/callback']) {
      expect((await ada.authorize({ redirect_uri })).request).not.toBe('');
    }
  });

  test('that runs code refuses a whole registration, and others are left out', async () => {
    const evil = [
      'javascript:alert(1)',
      'JavaScript:alert(1)',
      ' javascript:x',
      'java\nscript:x',
      'data:text/html,x',
      'file:///etc/passwd',
      'blob:https://a.example/1',
      'vbscript:x',
    ];
    for (const uri of evil.filter((text) => !text.includes('\n'))) {
      const { status, body } = await register({ redirect_uris: [CALLBACK, uri] });
      expect([uri, status, body['error']]).toEqual([uri, 400, 'invalid_redirect_uri']);
    }
    const { status, body } = await register({
      redirect_uris: [
        'java\nscript:x',
        'http://evil.example/cb',
        'myapp://cb',
        'https://a.example/cb',
        'cursor://anysphere.cursor-mcp/oauth/callback',
      ],
    });
    expect([status, body['redirect_uris']]).toEqual([
      201,
      ['https://a.example/cb', 'cursor://anysphere.cursor-mcp/oauth/callback'],
    ]);
    expect((await register({ redirect_uris: ['http://evil.example/cb'] })).status).toBe(400);
  });
});

describe('a client that is not known', () => {
  test.each([
    'nobody',
    'svc_dcr_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    'http://claude.ai/oauth/claude-code-client-metadata',
    'https://claude.ai:443/oauth/claude-code-client-metadata',
    'https://claude.ai/oauth/../oauth/claude-code-client-metadata',
    'https://user@claude.ai/oauth/claude-code-client-metadata',
    'https://127.0.0.1/client.json',
    'https://localhost/client.json',
    'https://[::1]/client.json',
    'https://169.254.169.254/latest/meta-data',
    '<script>alert(1)</script>',
  ])('%s gets a page and no redirect', async (client_id) => {
    const text = await isPage({ client_id });
    expect(text).not.toContain('169.254');
  });
});

describe('PKCE (CVE-2025-4144)', () => {
  test.each([
    ['without a challenge', { code_challenge: undefined, code_challenge_method: undefined }],
    ['with the plain method', { code_challenge_method: 'plain' }],
    ['without a method, which means plain', { code_challenge_method: undefined }],
    ['with a short challenge', { code_challenge: 'abc' }],
  ])('%s leads back with an error, state and issuer', async (_, more) => {
    const { status, location } = await ada.authorize(more);
    expect(status).toBe(302);
    const to = new URL(location);
    expect(`${to.origin}${to.pathname}`).toBe(CALLBACK);
    expect(Object.fromEntries(to.searchParams)).toMatchObject({
      error: 'invalid_request',
      state: 'some-state',
      iss: 'http://localhost:3000',
    });
  });
});

test.each([
  ['another response type', { response_type: 'token' }, 'unsupported_response_type'],
  ['another response mode', { response_mode: 'fragment' }, 'invalid_request'],
  ['a request object', { request_uri: 'https://evil.example/r' }, 'request_not_supported'],
  ['no interaction', { prompt: 'none' }, 'interaction_required'],
  ['a resource of somebody else', { resource: 'https://evil.example/mcp' }, 'invalid_target'],
  ['a resource that is none', { resource: 'http://localhost:8080/other' }, 'invalid_target'],
  ['a resource at an address that is not ours', { resource: 'http://192.0.2.7/mcp' }, 'invalid_target'],
])('a request with %s leads back with its error', async (_, more, error) => {
  const { location } = await ada.authorize(more);
  expect(new URL(location).searchParams.get('error')).toBe(error);
});

test('a wrong request of a registered client gets a page, never a redirect to an address of a stranger', async () => {
  const redirect_uri = 'https://phish.example/cb';
  const { body } = await register({ redirect_uris: [redirect_uri] });
  const text = await isPage({ client_id: String(body['client_id']), redirect_uri, response_type: 'token' });
  expect(text).not.toContain('phish.example');
});

describe('consent', () => {
  test('belongs to the browser that began (CVE-2026-27124): another one neither sees nor decides', async () => {
    const mallory = createBrowser(t);
    const { request } = await mallory.authorize();
    expect((await ada.send('GET', `/api/v1/oauth/requests/${request}`)).status).toBe(404);
    expect((await ada.decide(request)).status).toBe(404);
    await ada.authorize();
    expect((await ada.decide(request)).status).toBe(404);
    expect((await mallory.send('GET', `/api/v1/oauth/requests/${request}`)).status).toBe(200);
  });

  test('is never skipped: who is signed in gets no code from the request alone', async () => {
    const { location, headers, request } = await ada.authorize();
    expect(location).not.toContain('code=');
    expect(headers.get('location')).toStartWith('/oauth/consent?');
    const { body } = await ada.send('GET', `/api/v1/oauth/requests/${request}`);
    expect(body).not.toHaveProperty('redirect_to');
  });

  test('cannot be forged by a page of another origin', async () => {
    const { request } = await ada.authorize();
    expect((await ada.decide(request, { decision: 'approve' }, { origin: 'https://evil.example' })).status).toBe(403);
    expect((await ada.decide(request, { decision: 'approve' }, { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    // A form of another page cannot send JSON, and a listed origin is still a foreign one.
    expect((await ada.decide(request, { decision: 'approve' }, { 'content-type': 'text/plain' })).status).toBe(415);
    expect((await ada.decide(request, { decision: 'approve' }, { origin: 'http://localhost:5173' })).status).toBe(403);
    expect((await ada.decide(request)).status).toBe(200);
  });

  test('is given once, also by two tabs at the same time', async () => {
    const { request } = await ada.authorize();
    const answers = await Promise.all([ada.decide(request), ada.decide(request), ada.decide(request, { decision: 'deny' })]);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 404)).toHaveLength(2);
    const [one, two] = [await ada.authorize({ state: 'one' }), await ada.authorize({ state: 'two' })];
    for (const { request } of [two, one]) expect((await ada.decide(request)).status).toBe(200);
  });

  test('ends after ten minutes, and grants only what was asked', async () => {
    const late = await ada.authorize();
    const other = await ada.authorize({ resource: 'http://localhost:3000/agent-mcp', scope: 'read' });
    expect((await ada.decide(other.request, { decision: 'approve', scopes: ['read', 'deploy'] })).status).toBe(422);
    expect((await ada.decide(other.request, { decision: 'approve', scopes: [] })).status).toBe(422);
    t.advance(10 * 60_000);
    expect((await ada.decide(late.request)).status).toBe(404);
  });
});

describe('registration', () => {
  test('shows names without what hides in them', async () => {
    const { body } = await register({
      redirect_uris: [CALLBACK],
      client_name: `Cl\u200Baude\u202E\n\u{E0041} ${'x'.repeat(200)}`,
    });
    expect(body['client_name']).toBe(`Claude ${'x'.repeat(57)}`);
    const unnamed = await register({ redirect_uris: [CALLBACK], client_name: '\u200B\u202E' });
    expect(unnamed.body['client_name']).toBe('Unnamed client');
  });

  test('refuses what is too large, too many, or no JSON, and ignores what it does not know', async () => {
    const uris = Array.from({ length: 11 }, (_, n) => `https://a.example/${n}`);
    for (const body of [{}, { redirect_uris: [] }, { redirect_uris: uris }, { redirect_uris: 'x' }, { redirect_uris: [7] }]) {
      expect((await register(body)).status).toBe(400);
    }
    const large = await t.request('POST', '/oauth/register', { anonymous: true, raw: `{"x":"${'x'.repeat(17_000)}"}` });
    expect([large.status, large.body['error']]).toEqual([413, 'invalid_client_metadata']);
    expect((await t.request('POST', '/oauth/register', { anonymous: true, raw: '{"a":' })).status).toBe(400);
    const odd = await register({
      redirect_uris: [CALLBACK],
      token_endpoint_auth_method: 'private_key_jwt',
      grant_types: ['urn:ietf:params:oauth:grant-type:jwt-bearer'],
      application_type: 'native',
      logo_uri: 'http://169.254.169.254/',
      jwks_uri: 'http://127.0.0.1/',
      scope: 'everything',
    });
    expect([odd.status, odd.body['token_endpoint_auth_method'], 'client_secret' in odd.body]).toEqual([201, 'none', false]);
  });

  test('is limited for one network, and can be turned off', async () => {
    t.advance(11 * 60_000);
    const answers = await Promise.all(Array.from({ length: 40 }, () => register({ redirect_uris: [CALLBACK] })));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(30);
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.headers.get('retry-after')).toMatch(/^\d+$/);
    await t.call('config.update', { dynamic_registration: false });
    t.advance(11 * 60_000);
    const off = await register({ redirect_uris: [CALLBACK] });
    expect([off.status, off.body['error']]).toEqual([403, 'access_denied']);
    const { body } = await t.request('GET', '/.well-known/oauth-authorization-server');
    expect(body).not.toHaveProperty('registration_endpoint');
    await t.call('config.update', { dynamic_registration: true });
  });
});

test('a resource that is nearly all slashes is read in time linear in its length', async () => {
  const began = processorMs();
  expect(await resourceOf(t.app, `http://localhost:3000/mcp${'/'.repeat(30_000)}x`)).toBeNull();
  expect((await resourceOf(t.app, `http://localhost:3000/mcp${'/'.repeat(30_000)}`))?.path).toBe('/mcp');
  expect(processorMs() - began).toBeLessThan(500);
});

test('no token is for another program on the machine of a person, once the server has a public address', async () => {
  const other = await testApp({ SVC_PUBLIC_URL: 'https://sluice.example.com', SVC_ALLOWED_HOSTS: 'shop.example.com' });
  try {
    const kindOf = async (resource: string) => (await resourceOf(other.app, resource))?.kind ?? null;
    for (const origin of [
      'http://localhost:4444',
      'http://127.0.0.1:4444',
      'http://[::1]:4444',
      'https://shop.example.com:4444',
    ]) {
      expect([origin, await kindOf(`${origin}/mcp`), await kindOf(`${origin}/agent-mcp`)]).toEqual([origin, null, null]);
      // It is one of an installation that only this machine reaches.
      if (!origin.startsWith('https'))
        expect([origin, (await resourceOf(t.app, `${origin}/mcp`))?.kind]).toEqual([origin, 'mcp']);
    }
    const { port } = (await readSettings(other.app)).settings;
    const own = ['https://sluice.example.com', 'https://shop.example.com', `http://localhost:${port}`, 'http://127.0.0.1:8090'];
    for (const origin of own) expect([origin, await kindOf(`${origin}/mcp`)]).toEqual([origin, 'mcp']);
  } finally {
    await other.close();
  }
});

test('where the public address is plain http beyond this machine, nobody signs in and the reason is told', async () => {
  const other = await testApp({ SVC_PUBLIC_URL: 'http://sluice.example.com' });
  try {
    const headers = { host: 'sluice.example.com' };
    const page = await other.request('GET', `/oauth/authorize?${toQuery(asked())}`, { anonymous: true, headers });
    expect([page.status, page.headers.get('location')]).toEqual([400, null]);
    expect(String(page.body['text'])).toContain('needs HTTPS');
    expect((await other.request('GET', '/.well-known/oauth-authorization-server', { headers })).status).toBe(404);
    const token = await post(other, '/oauth/token', { grant_type: 'authorization_code', client_id: 'x' }, headers);
    expect([token.status, String(token.body['error_description'])]).toEqual([400, expect.stringContaining('HTTPS')]);
  } finally {
    await other.close();
  }
});
