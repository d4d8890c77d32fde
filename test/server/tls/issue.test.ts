import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Pebble, pebble_is_here, startPebble } from '#test/support/pebble.ts';
import { freePort } from '#test/support/free-port.ts';
import { type ListeningServer, listeningServer } from '#test/support/server.ts';
import { type HttpsClient, httpsClient } from './client.ts';
import { until } from '#test/support/until.ts';

const DAY_MS = 24 * 3_600_000;
const TLS = { ssl_enabled: true, ui_domain: 'ui.example.com', mcp_domain: 'mcp.example.com', acme_email: 'ada@example.com' };

const PROGRESS = [
  'certificate ordered',
  'the certificate authority checks',
  'a challenge was answered',
  'control of the domains is proven',
  'certificate issued',
  'HTTPS listens',
];

describe.skipIf(!pebble_is_here)('a certificate by http-01', () => {
  let pebble: Pebble;
  let s: ListeningServer;
  let client: HttpsClient;
  let root: string;
  let ahead_ms = 0;
  const front = freePort();
  const external = freePort();

  beforeAll(async () => {
    pebble = await startPebble(front);
    const variables = {
      SVC_PORT: String(front),
      SVC_SSL_PORT: '0',
      SVC_EXTERNAL_HTTPS_PORT: String(external),
      SVC_ACME_DIRECTORY_URL: pebble.directory,
    };
    s = await listeningServer(undefined, variables, {
      clock: () => new Date(Date.now() + ahead_ms),
      certificates: { ask: pebble.ask },
    });
    await s.signIn();
    root = await pebble.root();
    client = httpsClient(s.server.httpsPort, () => root);
  }, 60_000);
  afterAll(async () => {
    await s.stop();
    await pebble.stop();
  });
  const patch = (body: object) => s.send('config.update', body);
  const status = async () => await s.call('ssl.status', {});
  const issue = (body: object = {}) => s.send('ssl.issue', { wait: true, ...body });
  const plain = (name: string, path: string, init: RequestInit = {}) =>
    fetch(`${s.url}${path}`, { ...init, redirect: 'manual', headers: { host: name, ...(init.headers as object) } });
  /** The session of before ends with its time. */
  const at = async (ms: number): Promise<void> => {
    ahead_ms = ms;
    await s.signIn();
  };
  const serial = async () => (await client.shown('ui.example.com')).serial;

  test('is refused until it can be ordered, field by field', async () => {
    expect(await status()).toMatchObject({ status: 'none', domains: [], issuer: null, challenge: 'http-01', last_error: null });
    const refused = await s.send('ssl.issue');
    expect(refused.status).toBe(422);
    for (const field of ['ssl_enabled', 'ui_domain', 'acme_email']) expect(refused.body.detail).toContain(field);
    expect(s.server.httpsPort()).toBeNull();
    expect((await plain('localhost', '/api/health')).status).toBe(200);
  });

  test('is ordered by itself once everything is set, for both domains', async () => {
    await patch(TLS);
    await until(async () => (await status()).status === 'issued');
    const told = await status();
    expect(told).toMatchObject({ domains: ['ui.example.com', 'mcp.example.com'], last_error: null, days_remaining: 1_825 });
    expect(told.issuer).toStartWith('Pebble Intermediate');
    const life = Date.parse(String(told.valid_until)) - Date.parse(String(told.valid_from));
    const renewed_after = Date.parse(String(told.next_renewal_at)) - Date.parse(String(told.valid_from));
    expect(renewed_after / life).toBeLessThanOrEqual(2 / 3);
    expect(renewed_after / life).toBeGreaterThan(0.64);
    await until(() => s.server.httpsPort() !== null);
    await until(async () => (await plain('ui.example.com', '/')).status === 308);
    const told_in_log = new Set(s.lines.filter(({ source }) => source === 'tls').map(({ message }) => message));
    for (const line of PROGRESS) expect([line, told_in_log.has(line)]).toEqual([line, true]);
  }, 90_000);

  test('is shown for both names, and to clients that name none', async () => {
    const [ui, mcp, none] = await Promise.all([
      client.shown('ui.example.com'),
      client.shown('mcp.example.com'),
      client.shown(null),
    ]);
    expect(ui.names).toBe('DNS:ui.example.com, DNS:mcp.example.com');
    expect([mcp.serial, none.serial]).toEqual([ui.serial, ui.serial]);
    expect(ui.protocol).toBe('TLSv1.3');
    expect(await client.shown('other.example.com').catch(String)).toContain('ERR_TLS_CERT_ALTNAME_INVALID');
  });

  test('each domain answers for its part, and no other name is let in', async () => {
    expect((await client.ask('ui.example.com', '/api/v1/auth/status')).status).toBe(200);
    for (const path of ['/', '/api/v1/auth/status', '/agent-mcp/', '/api/docs', '/assets/index.js']) {
      expect([path, (await client.ask('mcp.example.com', path)).status]).toEqual([path, 404]);
    }
    expect((await client.ask('mcp.example.com', '/api/health')).status).toBe(200);
    const foreign = await client.ask('ui.example.com', '/api/health', { headers: { host: 'evil.example' } });
    expect(foreign.status).toBe(403);
  });

  test('browsers are kept on HTTPS, and sent to it', async () => {
    const secure = await client.ask('ui.example.com', '/api/health');
    expect(secure.headers.get('strict-transport-security')).toBe('max-age=31536000');
    expect((await plain('localhost', '/api/health')).headers.get('strict-transport-security')).toBeNull();
    const sent = await plain('ui.example.com', '/tools?search=a%20b', { method: 'POST', body: 'x' });
    expect([sent.status, sent.headers.get('location')]).toEqual([308, `https://ui.example.com:${external}/tools?search=a%20b`]);
    expect((await plain('mcp.example.com', '/mcp', { method: 'POST', body: '{}' })).status).toBe(308);
    // Somebody who writes the header is no proxy of ours.
    expect((await plain('ui.example.com', '/', { headers: { 'x-forwarded-proto': 'https' } })).status).toBe(308);
    for (const path of ['/api/health', '/.well-known/acme-challenge/abc']) {
      expect([path, (await plain('ui.example.com', path)).status]).toEqual([path, path === '/api/health' ? 200 : 404]);
    }
    expect((await plain('127.0.0.1', '/api/v1/auth/status')).status).toBe(200);
    // Our own programs follow no redirect.
    const headers = { 'x-service-token': s.service_token };
    expect((await plain('ui.example.com', '/api/internal/agent/settings', { headers })).status).toBe(200);
    expect((await plain('ui.example.com', '/api/v1/auth/status', { headers })).status).toBe(200);
  });

  test('over TLS the session is a cookie for HTTPS, and the caller is who is at the other end', async () => {
    const signed_in = await client.ask('ui.example.com', '/api/v1/auth/login', {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: 'https://ui.example.com', 'x-forwarded-for': '192.0.2.9' },
      body: JSON.stringify({ username: 'ada', password: 'correct horse' }),
    });
    const cookie = signed_in.headers.get('set-cookie') ?? '';
    expect(cookie).toStartWith('__Host-svc_session=');
    expect(cookie).toContain('Secure');
    const headers = { cookie: cookie.split(';')[0] ?? '' };
    const sessions = (await (await client.ask('ui.example.com', '/api/v1/auth/sessions', { headers })).json()) as {
      items: { ip: string; current: boolean }[];
    };
    expect(sessions.items.find(({ current }) => current)?.ip).toBe('127.0.0.1');
  });

  test('is ordered anew only with force while it is good', async () => {
    const before = await serial();
    expect((await issue()).body).toMatchObject({ status: 'issued' });
    expect(await serial()).toBe(before);
    const answer = await s.send('ssl.issue', { force: true });
    expect([answer.status, answer.body]).toEqual([202, { status: 'pending' }]);
    await until(async () => (await serial()) !== before);
  }, 60_000);

  test('is renewed after two thirds of its life, unless that is turned off', async () => {
    const before = await serial();
    await patch({ auto_renew: false });
    await at(1_250 * DAY_MS);
    expect((await status()).next_renewal_at).toBeNull();
    await Bun.sleep(2_500);
    expect(await serial()).toBe(before);
    await patch({ auto_renew: true });
    await until(async () => (await serial()) !== before);
    await at(0);
    await until(async () => (await status()).status === 'issued');
  }, 90_000);

  test('a failure says what to change, is repeated ever later, and the old certificate goes on', async () => {
    const before = await serial();
    await pebble.pause();
    const failed = await issue({ force: true });
    expect(failed.status).toBe(503);
    expect(failed.body.detail).toContain('The certificate authority cannot be reached');
    const told = await status();
    expect(told).toMatchObject({ status: 'issued', last_error: failed.body.detail });
    const waits = Date.parse(String(told.next_renewal_at)) - Date.now();
    expect(waits).toBeGreaterThan(3 * 60_000);
    expect(waits).toBeLessThan(7 * 60_000);
    await issue({ force: true });
    const later = Date.parse(String((await status()).next_renewal_at)) - Date.now();
    expect(later).toBeGreaterThan(7 * 60_000);
    expect(await serial()).toBe(before);
    await pebble.resume();
    root = await pebble.root();
    expect((await issue({ force: true })).body).toMatchObject({ status: 'issued', last_error: null });
  }, 90_000);

  test('a name that does not lead here is named with the authority’s answer; others are tried at once', async () => {
    await pebble.addAddress('wrong.example.com', '127.0.0.9');
    await patch({ ui_domain: 'wrong.example.com' });
    await until(async () => (await status()).last_error !== null);
    const { last_error, status: now } = await status();
    expect(now).toBe('error');
    expect((await client.shown('mcp.example.com')).names).toContain('DNS:ui.example.com');
    expect(last_error).toContain('could not check wrong.example.com');
    expect(last_error).toContain('port 80');
    await patch({ ui_domain: 'ui.example.com', mcp_domain: 'ui.example.com' });
    await until(
      async () => (await status()).status === 'issued' && (await client.shown('ui.example.com')).names === 'DNS:ui.example.com',
    );
    expect(await status()).toMatchObject({ domains: ['ui.example.com'], last_error: null });
  }, 120_000);

  test('turned off, HTTPS ends and plain HTTP is back; turned on, it needs no new order', async () => {
    const before = await serial();
    await patch({ ssl_enabled: false });
    await until(() => s.server.httpsPort() === null);
    expect(await status()).toMatchObject({ status: 'none' });
    await until(async () => (await plain('ui.example.com', '/api/v1/auth/status')).status === 200);
    await patch({ ssl_enabled: true });
    await until(() => s.server.httpsPort() !== null);
    expect(await serial()).toBe(before);
  }, 60_000);

  test('with a clock past two thirds of a new one’s life, the next order waits for hours', async () => {
    const before = await serial();
    await at(1_500 * DAY_MS);
    await until(async () => (await serial()) !== before);
    const pause_ms = Date.parse(String((await status()).next_renewal_at)) - Date.now() - ahead_ms;
    expect(pause_ms / 3_600_000).toBeWithin(5.9, 6.1);
    await at(0);
  }, 60_000);

  test('the end of its life is seen coming', async () => {
    await patch({ auto_renew: false });
    await at(1_700 * DAY_MS);
    expect((await status()).status).toBe('expiring_soon');
    await at(1_900 * DAY_MS);
    expect(await status()).toMatchObject({ status: 'expired', days_remaining: 0 });
    // Nobody is sent where no browser would go.
    await until(async () => (await plain('ui.example.com', '/api/v1/auth/status')).status === 200);
    await at(0);
  }, 60_000);
});
