import { afterEach, beforeEach, expect, test } from 'bun:test';
import { AppError } from '#core/errors.ts';
import type { FrozenServer } from '#snapshots/format/format.ts';
import { authSettings, connection, keyring, modern, rpc, snapshotOf, testHost, toolOf } from '../support.ts';
import { useHost } from '../use-host.ts';
import { until } from '#test/support/until.ts';

interface Asked {
  readonly authorization: string | null;
  readonly type: string | null;
  readonly form: Record<string, string>;
}

/** An authorization server of another maker, as far as introspection goes. */
let issuer: Bun.Server<undefined>;
let asked: Asked[];
let answer: (token: string) => unknown;
let now = 0;
/** By how much the clock was set since. */
let set_ms = 0;
let version = 0;

const settings = (): Partial<FrozenServer> => ({
  auth_type: 'oauth_introspection',
  introspection_url: `http://127.0.0.1:${issuer.port}/introspect`,
  introspection_client_id: 'sluice:host',
  introspection_client_secret: { $sealed: keyring.seal('s&cret', 'server_config/introspection_client_secret') },
  introspection_cache_ttl_seconds: 60,
});
const deployServer = (server: Partial<FrozenServer> = {}) =>
  control.deploy(
    snapshotOf(++version, {
      connections: [connection],
      tools: [toolOf(connection, 'one', 'select 1 as one')],
      server: { ...settings(), ...server },
    }),
  );

beforeEach(() => {
  now = Date.now();
  set_ms = 0;
  asked = [];
  answer = (token) => ({ active: token === 'good' });
  issuer = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const form = Object.fromEntries(new URLSearchParams(await request.text()));
      asked.push({ authorization: request.headers.get('authorization'), type: request.headers.get('content-type'), form });
      await Bun.sleep(10);
      const said = answer(String(form['token']));
      return said instanceof Response ? said : Response.json(said);
    },
  });
});
const { folder, control, host, use } = useHost('each', { now: () => now + set_ms, ticks: () => now, keep_alive_ms: 30 });
beforeEach(() => deployServer());
afterEach(() => issuer.stop(true));

const callWith = (token: string) => modern(host.mcp, 'tools/call', { name: 'one' }, { authorization: `Bearer ${token}` });
const statusWith = async (token: string) => (await callWith(token)).status;

test('only an active token comes in; the endpoint is asked as the client that is configured', async () => {
  expect((await modern(host.mcp, 'tools/list')).status).toBe(401);
  expect(asked).toEqual([]);
  const bad = await callWith('bad');
  expect([bad.status, bad.headers.get('www-authenticate')?.includes('error="invalid_token"')]).toEqual([401, true]);
  expect(await statusWith('good')).toBe(200);
  expect(asked).toEqual(
    ['bad', 'good'].map((token) => ({
      authorization: `Basic ${btoa('sluice%3Ahost:s%26cret')}`,
      type: 'application/x-www-form-urlencoded',
      form: { token, token_type_hint: 'access_token' },
    })),
  );
});

test('answers are kept for the time that is set, those of inactive tokens for 5 s', async () => {
  for (const token of ['good', 'good', 'bad', 'bad']) await statusWith(token);
  expect(asked.length).toBe(2);
  now += 5_001;
  await statusWith('bad');
  expect(asked.length).toBe(3);
  now += 60_000;
  await statusWith('good');
  expect(asked.length).toBe(4);
});

test('a token is not believed beyond its own end', async () => {
  answer = () => ({ active: true, exp: Math.floor(now / 1_000) + 10 });
  expect(await statusWith('short')).toBe(200);
  answer = () => ({ active: true, exp: Math.floor(now / 1_000) - 10 });
  now += 11_000;
  expect(await statusWith('short')).toBe(401);
  expect(asked.length).toBe(2);
});

test('a clock that is set back keeps no answer longer, and one set ahead no token beyond its end', async () => {
  answer = () => ({ active: true, exp: Math.floor(now / 1_000) + 3_600 });
  expect(await statusWith('revoked')).toBe(200);
  answer = () => ({ active: false });
  set_ms = -86_400_000;
  now += 60_001;
  expect(await statusWith('revoked')).toBe(401);
  set_ms = 0;
  answer = () => ({ active: true, exp: Math.floor(now / 1_000) + 30 });
  expect(await statusWith('ends')).toBe(200);
  answer = () => ({ active: false });
  set_ms = 31_000;
  expect(await statusWith('ends')).toBe(401);
});

test('with 0 every request asks, but requests of one moment ask together', async () => {
  await deployServer({ introspection_cache_ttl_seconds: 0 });
  expect([await statusWith('good'), await statusWith('good')]).toEqual([200, 200]);
  expect(asked.length).toBe(2);
  answer = () => ({ active: false });
  expect(await statusWith('good')).toBe(401);
  await Promise.all(Array.from({ length: 10 }, () => statusWith('other')));
  expect(asked.length).toBeLessThan(3 + 10);
});

test('a token for another audience is refused', async () => {
  const audiences = [
    'https://other.example.com',
    ['a', 'b'],
    host.mcp.href,
    [`${host.mcp.href}/`, 'a'],
    'sluice:host',
    undefined,
  ];
  const statuses: number[] = [];
  for (const [n, aud] of audiences.entries()) {
    answer = () => ({ active: true, aud });
    statuses.push(await statusWith(`token${n}`));
  }
  expect(statuses).toEqual([401, 401, 200, 200, 200, 200]);
});

test('a token for a part is for no other part and not for the whole, and what is kept of it neither', async () => {
  const at = async (path: string, token: string) => {
    const url = new URL(`${host.mcp.href}${path}`);
    return (await modern(url, 'tools/list', {}, { authorization: `Bearer ${token}` })).status;
  };
  const part = `${host.mcp.href}/readonly`;
  const audiences: Record<string, string | string[]> = {
    part,
    other_part: [part, 'other'],
    both: [part, host.mcp.href],
    whole: host.mcp.href,
    tag: `${host.mcp.href}/tag/sales`,
  };
  answer = (token) => ({ active: true, aud: audiences[token] });
  for (const introspection_cache_ttl_seconds of [60, 0]) {
    await deployServer({ introspection_cache_ttl_seconds });
    for (const [token, whole, readonly] of [
      ['part', 401, 200],
      ['other_part', 401, 200],
      ['both', 200, 200],
      ['whole', 200, 200],
      ['tag', 401, 401],
    ] as const) {
      const statuses = [await at('', token), await at('/readonly', token), await at('', token)];
      expect([token, ...statuses]).toEqual([token, whole, readonly, whole]);
    }
  }
});

test.each<[string, () => unknown]>([
  ['an error', () => new Response('', { status: 500 })],
  ['that our client is refused', () => new Response('{"active":true}', { status: 401 })],
  ['a redirect', () => new Response('', { status: 307, headers: { location: 'http://127.0.0.1:1/' } })],
  ['no JSON', () => new Response('active')],
  ['a text for active', () => ({ active: 'true' })],
  ['far too much', () => ({ active: true, padding: 'x'.repeat(100_000) })],
])('when the endpoint answers %s, nobody comes in and nothing is remembered', async (_, said) => {
  answer = said;
  const refused = await callWith('good');
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
  answer = () => ({ active: true });
  expect(await statusWith('good')).toBe(200);
});

test('when the endpoint is down, known tokens go on and others are 503', async () => {
  expect(await statusWith('good')).toBe(200);
  await issuer.stop(true);
  expect([await statusWith('good'), await statusWith('new')]).toEqual([200, 503]);
  for (let n = 0; n < 20; n++) await statusWith(`new${n}`);
  expect(host.log.filter(({ message }) => message === 'introspection_failed')).toHaveLength(1);
  const log = JSON.stringify(host.log);
  expect(log).toContain('introspection_failed');
  expect(log).not.toContain('s&cret');
});

test('an address that the guard refuses is not asked', async () => {
  await host.stop();
  const ask = () => Promise.reject(new AppError('private_network_blocked', 'This address is not public.'));
  use(await testHost(folder.directory, control.url, { auth: { ...authSettings(folder.directory), ask } }));
  expect(await statusWith('good')).toBe(503);
  expect(asked).toEqual([]);
});

test('a flood of made-up tokens stops being passed on; those who are known do not notice', async () => {
  expect(await statusWith('good')).toBe(200);
  for (let round = 0; round < 8; round++) await Promise.all(Array.from({ length: 20 }, (_, n) => statusWith(`x${round}.${n}`)));
  expect(asked.length).toBeLessThan(70);
  expect([await statusWith('good'), await statusWith('unknown')]).toEqual([200, 429]);
});

test.each([0, 60])(
  'a client that sends far more requests at once than attempts may fail comes in (%i s kept)',
  async (seconds) => {
    await deployServer({ introspection_cache_ttl_seconds: seconds });
    const statuses = await Promise.all(Array.from({ length: 150 }, () => statusWith('good')));
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
  },
);

test('many people of one address come in at once: only tokens that fail count against it', async () => {
  answer = (token) => ({ active: token.startsWith('good') });
  const first = await Promise.all(Array.from({ length: 150 }, (_, n) => statusWith(`good${n}`)));
  expect(first.filter((status) => status !== 200)).toEqual([]);
  for (let n = 0; n < 59; n++) expect(await statusWith(`bad${n}`)).toBe(401);
  const later = await Promise.all(Array.from({ length: 20 }, (_, n) => statusWith(`good${150 + n}`)));
  expect(later.filter((status) => status !== 200)).toEqual([]);
  expect([await statusWith('bad59'), await statusWith('bad60'), await statusWith('good170')]).toEqual([401, 429, 429]);
});

test('of a flood at once no more is passed on than may fail', async () => {
  const statuses = await Promise.all(Array.from({ length: 150 }, (_, n) => statusWith(`bad${n}`)));
  expect(asked.length).toBe(60);
  expect(statuses.filter((status) => status === 401).length).toBe(60);
  expect(statuses.filter((status) => status === 429).length).toBe(90);
});

test('a deploy with other settings forgets every answer', async () => {
  expect(await statusWith('good')).toBe(200);
  answer = () => ({ active: false });
  await deployServer({ server_name: 'Renamed' });
  expect(await statusWith('good')).toBe(200);
  await deployServer({ introspection_client_id: 'other' });
  expect(await statusWith('good')).toBe(401);
});

test('a session belongs to the person and the client, so that a renewed token keeps it', async () => {
  answer = (token) => ({ active: true, client_id: 'app', sub: token.startsWith('ada') ? 'ada' : 'eve' });
  const params = { protocolVersion: '2025-11-25' };
  const opened = await rpc(host.mcp, { id: 1, method: 'initialize', params }, { authorization: 'Bearer ada1' });
  const ping = async (token: string) => {
    const headers = { authorization: `Bearer ${token}`, 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
    return (await rpc(host.mcp, { id: 2, method: 'ping' }, headers)).status;
  };
  expect([await ping('ada1'), await ping('ada2'), await ping('eve1')]).toEqual([200, 200, 404]);
});

test('a stream ends when the last token of its caller is found to be revoked', async () => {
  let revoked: readonly string[] = [];
  answer = (token) => ({ active: !revoked.includes(token), client_id: 'app', sub: token.startsWith('ada') ? 'ada' : 'eve' });
  const streams = await Promise.all(
    ['ada1', 'eve1'].map(async (token) => {
      const bearer = { authorization: `Bearer ${token}` };
      const opened = await rpc(host.mcp, { id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18' } }, bearer);
      const session = opened.headers.get('mcp-session-id') ?? '';
      return fetch(host.mcp, { headers: { accept: 'text/event-stream', 'mcp-session-id': session, ...bearer } });
    }),
  );
  const open = async () => (await host.health()).streams;
  expect([await statusWith('ada2'), await open()]).toEqual([200, 2]);
  revoked = ['ada1'];
  now += 61_000;
  expect([await statusWith('ada1'), await statusWith('ada2')]).toEqual([401, 200]);
  await Bun.sleep(100);
  expect(await open()).toBe(2);
  revoked = ['ada1', 'ada2'];
  now += 61_000;
  expect(await statusWith('ada2')).toBe(401);
  await until(async () => (await open()) === 1);
  for (const stream of streams) await stream.body?.cancel().catch(() => undefined);
});

test('with an audience every token must name it; another audience than before is asked about anew', async () => {
  const audiences: Record<string, string | string[]> = { both: ['other', 'shop'], client: 'sluice:host' };
  answer = (token) => ({ active: true, ...(token !== 'none' && { aud: audiences[token] ?? token }) });
  // Today’s rule: whoever names nobody may be for us.
  expect([await statusWith('none'), await statusWith('shop'), await statusWith('client')]).toEqual([200, 401, 200]);
  await deployServer({ introspection_audience: 'shop' });
  const statuses = await Promise.all(['none', 'shop', 'both', 'other', 'client', 'shop/'].map(statusWith));
  expect(statuses).toEqual([401, 200, 200, 401, 401, 401]);
  await deployServer();
  expect(await statusWith('none')).toBe(200);
});

test('clients are sent to the issuer that is set, path included, with its scopes', async () => {
  const about = async () => {
    const challenge = (await modern(host.mcp, 'tools/list')).headers.get('www-authenticate') ?? '';
    const url = /resource_metadata="([^"]+)"/.exec(challenge)?.[1] ?? '';
    return { challenge, document: (await (await fetch(url)).json()) as Record<string, unknown> };
  };
  const before = await about();
  expect(before.challenge).not.toContain('scope=');
  expect(before.document['authorization_servers']).toEqual([`http://127.0.0.1:${issuer.port}`]);
  expect(before.document).not.toHaveProperty('scopes_supported');
  const introspection_issuer = 'https://login.example.com/realms/shop';
  await deployServer({ introspection_issuer, introspection_scopes: ['shop.read', 'openid'] });
  const after = await about();
  expect(after.challenge).toContain('scope="shop.read openid"');
  expect(after.document).toMatchObject({
    authorization_servers: [introspection_issuer],
    scopes_supported: ['shop.read', 'openid'],
  });
});

test('the request log names the client, or the person, that the authorization server knows', async () => {
  const said: Record<string, object> = {
    client: { client_id: 'nightly-report', sub: 'ada' },
    person: { sub: 'grace\u0000@example.com and a very long name indeed' },
    nobody: {},
  };
  answer = (token) => ({ active: true, ...said[token] });
  for (const token of Object.keys(said)) {
    const { status } = await modern(host.mcp, 'tools/call', { name: 'one' }, { authorization: `Bearer ${token}` });
    expect([token, status]).toEqual([token, 200]);
  }
  const items = () => control.usage.flatMap((batch) => batch.items);
  await until(() => items().length === 3);
  expect(new Set(items().map(({ token_prefix }) => token_prefix))).toEqual(
    new Set(['nightly-report', 'grace?@example.com and a very lo', null]),
  );
});
