import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { siteOf } from '#core/edge/client-address.ts';
import { digestOf } from '#core/lib/random-token.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { asked, CALLBACK, createBrowser, toQuery } from '#test/support/sign-in.ts';

test('sites are the /24 of IPv4 and the /48 of IPv6, however an address is written', () => {
  const sites = ['198.51.100.7', '::ffff:198.51.100.9', '2001:db8:1:2::3', '2001:0db8:0001:ffff::', 'not an address'].map(siteOf);
  expect(sites).toEqual(['198.51.100.0/24', '198.51.100.0/24', '2001:db8:1::/48', '2001:db8:1::/48', 'not an address']);
});

const KINDS = [
  { kind: 'sqlite', up: true },
  { kind: 'postgresql', up: reachable.postgres },
] as const;
describe.each(KINDS.filter(({ up }) => up))('a few sites that send much, on $kind', ({ kind }) => {
  let database: TestDatabase | null = null;
  let t: TestApp;
  let fetched = 0;
  beforeAll(async () => {
    database = kind === 'postgresql' ? await testDatabase('postgresql') : null;
    const fetch_document = async () => {
      fetched++;
      return new Response(null, { status: 404 });
    };
    t = await testApp({ SVC_TRUSTED_PROXIES: '192.0.2.1' }, database?.url, { fetch_document });
    await t.signIn();
  });
  afterAll(async () => {
    await t.close();
    await database?.drop();
  });
  const from = (address: string) => ({ anonymous: true, headers: { 'x-forwarded-for': address } });
  const inserted = async (rows: readonly object[], table: unknown) => {
    for (let at = 0; at < rows.length; at += 500) {
      await t.app.store.write((tx) =>
        tx.insert(table as typeof t.app.store.tables.people).values(rows.slice(at, at + 500) as never),
      );
    }
  };

  test('keep nobody from beginning a sign-in, nor end one that began before theirs', async () => {
    const ada = createBrowser(t);
    await ada.signIn();
    const { request } = await ada.authorize();
    const { oauth_requests: table } = t.app.store.tables;
    const [row] = await t.app.store.db.select().from(table);
    const now = t.app.clock().getTime();
    const expires_at = (n: number) => new Date(now + 500_000 + n).toISOString();
    const theirs = Array.from({ length: 9_999 }, (_, n) => ({
      ...row,
      id: digestOf(`theirs ${n}`),
      network: n % 3 === 0 ? '203.0.113.0/24' : '198.51.100.0/24',
      expires_at: expires_at(n),
    }));
    await inserted(theirs, table);
    const begun = await t.request('GET', `/oauth/authorize?${toQuery(asked())}`, from('198.51.100.77'));
    expect(begun.status).toBe(303);
    expect((await ada.send('GET', `/api/v1/oauth/requests/${request}`)).status).toBe(200);
    expect((await ada.authorize()).request).not.toBe('');
    const left = await t.app.store.db.select({ id: table.id }).from(table);
    const ids = new Set(left.map(({ id }) => id));
    expect(ids.size).toBe(10_000);
    // The oldest two of the site that had most.
    expect([1, 2, 0, 4].map((n) => ids.has(digestOf(`theirs ${n}`)))).toEqual([false, false, true, true]);
  }, 60_000);

  test('keep no client from registering, nor end the registration of another one', async () => {
    const register = (address: string) =>
      t.request('POST', '/oauth/register', { ...from(address), body: { redirect_uris: [CALLBACK] } });
    const first = await register('192.0.2.200');
    const { oauth_registrations: table } = t.app.store.tables;
    const created_at = t.app.clock().toISOString();
    const theirs = Array.from({ length: 999 }, (_, n) => ({
      client_id: `svc_dcr_theirs_${n}`,
      name: 'theirs',
      redirect_uris: [CALLBACK],
      network: `198.51.${n % 30}.0/24`,
      created_at,
      last_used_at: null,
    }));
    await inserted(theirs, table);
    expect((await register('192.0.2.201')).status).toBe(201);
    const ids = (await t.app.store.db.select({ id: table.client_id }).from(table)).map(({ id }) => id);
    expect([ids.length, ids.includes(String(first.body['client_id']))]).toEqual([1_000, true]);
    await t.app.store.write((tx) => tx.update(table).set({ last_used_at: created_at }));
    const full = await register('192.0.2.202');
    expect([full.status, full.headers.get('retry-after')]).toEqual([429, '900']);
  });

  test('keep no new client from being looked up, and are told the truth', async () => {
    const begin = (n: number, address: string) => {
      const query = toQuery(asked({ client_id: `https://other.example.test/oauth/${n}.json` }));
      return t.request('GET', `/oauth/authorize?${query}`, from(address));
    };
    for (let n = 0; n < 80; n++) await begin(n, `198.51.${Math.floor(n / 20)}.${n}`);
    // Beyond the limit of all sites the first three of a site are looked up.
    expect(fetched).toBe(63);
    const late = await begin(100, '198.51.3.7');
    expect([late.status, String(late.body['text'])]).toEqual([429, expect.stringMatching(/Try again in \d+ seconds\./)]);
    expect(String(late.body['text'])).not.toContain('not known');
    const other = await begin(101, '203.0.113.9');
    expect([other.status, fetched]).toEqual([400, 64]);
  });
});
