import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { zoneCandidates } from '#server/tls/dns-provider.ts';
import { signAws } from '#server/tls/sigv4.ts';
import { AWS_KEYS, CLOUDFLARE_TOKEN, type DnsProviders, startDnsProviders } from '#test/support/dns-providers.ts';
import { type Pebble, pebble_is_here, startPebble } from '#test/support/pebble.ts';
import { freePort } from '#test/support/free-port.ts';
import { type ListeningServer, listeningServer } from '#test/support/server.ts';
import { httpsClient } from './client.ts';
import { until } from '#test/support/until.ts';

/** Of Amazon's test suite for Signature Version 4, with the headers host and x-amz-date. */
const VECTORS = [
  ['get-vanilla', 'GET', '/', '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
  [
    'get-vanilla-query-order-key-case',
    'GET',
    '/?Param2=value2&Param1=value1',
    'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  ],
  ['post-vanilla', 'POST', '/', '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b'],
  ['post-vanilla-query', 'POST', '/?Param1=value1', '28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11'],
  [
    'get-vanilla-query-unreserved',
    'GET',
    '/?-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz=-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz',
    '9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197',
  ],
] as const;

test.each(VECTORS)('requests to Amazon are signed as its test suite says: %s', (_name, method, path, signature) => {
  const headers = signAws(
    {
      method,
      url: `https://example.amazonaws.com${path}`,
      region: 'us-east-1',
      service: 'service',
      now: new Date('2015-08-30T12:36:00Z'),
    },
    { access_key_id: 'AKIDEXAMPLE', secret_access_key: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' },
  );
  expect(headers['x-amz-date']).toBe('20150830T123600Z');
  expect(headers['authorization']).toBe(
    `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, Signature=${signature}`,
  );
});

test('the zone of a record is the longest name that the provider keeps', () => {
  expect(zoneCandidates('_acme-challenge.a.example.co.uk')).toEqual([
    '_acme-challenge.a.example.co.uk',
    'a.example.co.uk',
    'example.co.uk',
    'co.uk',
  ]);
});

describe.skipIf(!pebble_is_here)('a certificate by dns-01', () => {
  let pebble: Pebble;
  let providers: DnsProviders;
  let s: ListeningServer;
  let root: string;

  beforeAll(async () => {
    // Nothing listens where http-01 would look.
    pebble = await startPebble(freePort());
    root = await pebble.root();
    providers = startDnsProviders({ add: pebble.addTxt, clear: pebble.clearTxt });
    s = await listeningServer(
      undefined,
      { SVC_SSL_PORT: '0', SVC_ACME_DIRECTORY_URL: pebble.directory },
      { certificates: { ask: pebble.ask, provider_urls: providers.urls, dns_servers: [pebble.dns] } },
    );
    await s.signIn();
  }, 60_000);
  afterAll(async () => {
    await s.stop();
    await providers.stop();
    await pebble.stop();
  });
  const set = async (body: object) => expect((await s.send('config.update', body)).status).toBe(200);
  const issue = () => s.send('ssl.issue', { wait: true, force: true });
  const both = { ui_domain: 'ui.example.com', mcp_domain: 'mcp.sub.example.com' };

  test('needs a provider and its credentials', async () => {
    await set({ ssl_enabled: true, auto_renew: false, acme_email: 'ada@example.com', acme_challenge: 'dns-01', ...both });
    const refused = await issue();
    expect(refused.status).toBe(422);
    for (const field of ['dns_provider', 'dns_credentials']) expect(refused.body.detail).toContain(field);
  });

  test('through Cloudflare: zone found, records added, waited for, removed', async () => {
    providers.delay(1_500);
    await set({ dns_provider: 'cloudflare', dns_credentials: { api_token: CLOUDFLARE_TOKEN } });
    expect((await issue()).body).toMatchObject({ status: 'issued', challenge: 'dns-01', domains: Object.values(both) });
    expect(providers.records()).toEqual([]);
    expect(providers.asked.filter((line) => line.startsWith('DELETE'))).toHaveLength(2);
    await until(() => s.server.httpsPort() !== null);
    const client = httpsClient(s.server.httpsPort, () => root);
    for (const name of Object.values(both)) expect((await client.shown(name)).names).toContain(`DNS:${name}`);
    providers.delay(0);
  }, 90_000);

  test('a token that Cloudflare refuses is named, never shown', async () => {
    await set({ dns_credentials: { api_token: 'canary-wrong-token-77' } });
    const failed = await issue();
    expect([failed.status, failed.body.detail]).toEqual([503, expect.stringContaining('Cloudflare rejects the API token')]);
    expect(JSON.stringify(failed.body)).not.toContain('canary');
    expect((await s.send('ssl.status')).body).toMatchObject({
      status: 'issued',
      last_error: failed.body.detail,
    });
  }, 60_000);

  test('through Route 53: the public zone of the name, changes followed until all servers have them', async () => {
    // Names that were proven before may be remembered.
    const domains = { ui_domain: 'ui.r53.example.com', mcp_domain: 'mcp.r53.example.com' };
    await set({ dns_provider: 'route53', dns_credentials: AWS_KEYS, ...domains });
    const from = providers.asked.length;
    expect((await issue()).body).toMatchObject({ status: 'issued', last_error: null });
    // Each of the two changes is pending at the first look.
    expect(providers.asked.slice(from).filter((line) => line.includes('/change/'))).toHaveLength(4);
    expect(providers.records()).toEqual([]);
  }, 90_000);

  test('through Route 53 with the id of the zone, without a list of zones', async () => {
    await set({ dns_credentials: { ...AWS_KEYS, hosted_zone_id: '/hostedzone/Z0123456789ABC' }, ui_domain: 'by-id.example.com' });
    const from = providers.asked.length;
    expect((await issue()).body).toMatchObject({ status: 'issued' });
    const asked = providers.asked.slice(from);
    expect(asked.filter((line) => line.includes('hostedzonesbyname'))).toEqual([]);
    expect(asked).toContain('POST /2013-04-01/hostedzone/Z0123456789ABC/rrset/');
  }, 90_000);

  test('keys that Amazon refuses and a zone that it does not have are named', async () => {
    await set({ dns_credentials: { ...AWS_KEYS, access_key_id: 'AKIDOTHER' } });
    expect((await issue()).body.detail).toContain('Route 53 rejects the credentials (InvalidClientTokenId)');
    await set({ dns_credentials: AWS_KEYS, ui_domain: 'ui.example.net', mcp_domain: null });
    expect((await issue()).body.detail).toContain('Route 53 has no public hosted zone for _acme-challenge.ui.example.net');
  }, 60_000);

  test('an alias of the record is followed to the zone that may be written', async () => {
    await pebble.addAlias('_acme-challenge.ui.example.net', 'ui-net.challenges.example.com');
    expect((await issue()).body).toMatchObject({ status: 'issued', domains: ['ui.example.net'] });
    expect(providers.records()).toEqual([]);
  }, 60_000);

  test('no key, token or credential is in an answer, the log, an export or a file', async () => {
    const { app } = s.server;
    const rows = await app.store.db.select().from(app.store.tables.certificates);
    expect(rows[0]?.chain).toContain('BEGIN CERTIFICATE');
    const answers = await Promise.all(
      ['/server/ssl/status', '/server/config', '/export-import/export', '/history?limit=100', '/deploy/status'].map((path) =>
        s.api('GET', path),
      ),
    );
    const texts = [...answers.map(({ body }) => JSON.stringify(body)), JSON.stringify(rows), JSON.stringify(s.lines)];
    for (const file of await Array.fromAsync(new Bun.Glob('**/*').scan({ cwd: s.directory, absolute: true }))) {
      texts.push(Buffer.from(await Bun.file(file).arrayBuffer()).toString('latin1'));
    }
    for (const secret of ['PRIVATE KEY', CLOUDFLARE_TOKEN, AWS_KEYS.secret_access_key, 'canary-wrong-token']) {
      expect([secret, texts.filter((text) => text.includes(secret)).length]).toEqual([secret, 0]);
    }
    expect(s.lines.some(({ source, message }) => source === 'tls' && message === 'certificate issued')).toBe(true);
  });
});
