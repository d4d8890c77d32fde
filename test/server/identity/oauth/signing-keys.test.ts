import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createLocalJWKSet, decodeProtectedHeader, errors, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { join } from 'node:path';
import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import { endGrants, recordEndedGrants } from '#core/identity/oauth/ended.ts';
import { keyRotation, ROTATE_MS, rotateKeys, signAccessToken } from '#core/identity/oauth/keys.ts';
import { followIdentity, identityList, listEnded, publicKeys } from '#core/identity/oauth/published.ts';
import { secretFaults } from '#core/versions/keys.ts';
import { rewrapSecrets } from '#core/versions/rewrap.ts';
import { createKeyring } from '#core/lib/secrets.ts';
import type { HostEvent } from '#core/contract/deploy/control.ts';
import { openStore } from '#core/store/open.ts';
import { testApp, type TestApp } from '#test/support/app.ts';
import { reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { describeOnce } from '#test/support/metadata.ts';
import { paced } from '#test/support/paced.ts';
import { until } from '#test/support/until.ts';

const RESOURCE = 'https://sluice.example.com/mcp';
const CLAIMS = {
  aud: RESOURCE,
  sub: 'person-1',
  client_id: 'client-1',
  scope: 'sales',
  groups: ['emea'],
  grant: 'grant-1',
  seq: 0,
  name: 'Ada',
};
const PUBLIC = { SVC_PUBLIC_URL: 'https://sluice.example.com' };
const DAY_MS = 24 * 3_600_000;

const keysOf = async (app: ControlPlane): Promise<JWTVerifyGetKey> => createLocalJWKSet({ keys: await publicKeys(app) });
const verify = async (app: ControlPlane, token: string) =>
  jwtVerify(token, await keysOf(app), { algorithms: ['ES256'], typ: 'at+jwt', currentDate: app.clock() });
const statesOf = async ({ store }: ControlPlane): Promise<string[]> => {
  const rows = await store.db.select().from(store.tables.signing_keys);
  return rows.map(({ state }) => state).sort();
};

describe('the signing keys', () => {
  let t: TestApp;
  beforeAll(async () => {
    t = await testApp(PUBLIC);
  });
  afterAll(() => t.close());

  test('signing keys are made at the first read or token, and the next one is published with the current one', async () => {
    expect(await publicKeys(t.app)).toEqual([]);
    const { body, headers } = await t.request('GET', '/oauth/jwks', { anonymous: true });
    expect([(body['keys'] as unknown[]).length, headers.get('cache-control')]).toEqual([2, 'public, max-age=300']);
    const token = await signAccessToken(t.app, CLAIMS, 3_600);
    expect(await statesOf(t.app)).toEqual(['current', 'next']);
    expect(decodeProtectedHeader(token)).toMatchObject({ alg: 'ES256', typ: 'at+jwt', kid: expect.any(String) });
    const { payload } = await verify(t.app, token);
    const iat = Math.floor(t.app.clock().getTime() / 1_000);
    expect(payload).toMatchObject({ ...CLAIMS, iss: 'https://sluice.example.com', iat, exp: iat + 3_600 });
    expect(payload.jti).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('leave no private part in what is published, and only sealed ones in the database', async () => {
    const list = await identityList(t.app);
    expect(JSON.stringify(list)).not.toContain('"d"');
    expect(list).toMatchObject({ issuer: 'https://sluice.example.com', as_of: t.app.clock().toISOString() });
    for (const key of list.jwks.keys) expect(Object.keys(key).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
    const rows = await t.app.store.db.select().from(t.app.store.tables.signing_keys);
    expect(JSON.stringify(rows)).not.toContain('"d"');
    for (const row of rows) expect(row.private_key?.$sealed).toMatch(/^v1\./);
  });

  test('rotate after 90 days: the one that every host knows already signs, and the old one still verifies', async () => {
    const before = await signAccessToken(t.app, CLAIMS, 86_400);
    const [first] = [decodeProtectedHeader(before).kid];
    expect(await rotateKeys(t.app)).toBe(false);
    const known = (await publicKeys(t.app)).map(({ kid }) => kid);
    t.advance(ROTATE_MS);
    const last = await signAccessToken(t.app, CLAIMS, 86_400);
    expect(await rotateKeys(t.app)).toBe(true);
    expect(await statesOf(t.app)).toEqual(['current', 'next', 'retired']);
    const fresh = await signAccessToken(t.app, CLAIMS, 86_400);
    const kid = decodeProtectedHeader(fresh).kid;
    expect(kid).not.toBe(first);
    expect(known).toContain(kid);
    await verify(t.app, fresh);
    await verify(t.app, last);
    const retired = await t.app.store.db.select().from(t.app.store.tables.signing_keys);
    expect(retired.find((key) => key.kid === first)?.private_key).toBeNull();
    const rotation = await keyRotation(t.app);
    expect(Date.parse(rotation?.rotates_at ?? '')).toBe(t.app.clock().getTime() + ROTATE_MS);
  });

  test('are forgotten when no token of theirs can live any more', async () => {
    const rows = await t.app.store.db.select().from(t.app.store.tables.signing_keys);
    const kid = rows.find(({ state }) => state === 'retired')?.kid;
    t.advance(DAY_MS);
    expect(await rotateKeys(t.app)).toBe(false);
    t.advance(3_600_000);
    expect(await rotateKeys(t.app)).toBe(true);
    expect((await publicKeys(t.app)).map((key) => key.kid)).not.toContain(kid);
    expect(await statesOf(t.app)).toEqual(['current', 'next']);
  });

  test('of another installation verify nothing', async () => {
    const other = await testApp(PUBLIC);
    try {
      const token = await signAccessToken(other.app, CLAIMS, 60);
      expect(verify(t.app, token)).rejects.toBeInstanceOf(errors.JWKSNoMatchingKey);
    } finally {
      await other.close();
    }
  });

  test('are sealed anew with the first key of the ring', async () => {
    await signAccessToken(t.app, CLAIMS, 60);
    const old = t.app.env.SVC_ENCRYPTION_KEY[0] ?? '';
    const keyring = createKeyring(['new-key-new-key-new-key-new-key-new', old], new Uint8Array(32));
    const app = { ...t.app, keyring };
    expect((await rewrapSecrets(app)).entities).toBeGreaterThanOrEqual(2);
    expect(await secretFaults(app)).toEqual([]);
    await verify(app, await signAccessToken(app, CLAIMS, 60));
    const without = { ...app, keyring: createKeyring([old], new Uint8Array(32)) };
    expect((await secretFaults(without)).join()).toContain('the signing key');
  });
});

describe('ended grants', () => {
  let t: TestApp;
  let sub: string;
  beforeAll(async () => {
    t = await testApp(PUBLIC);
    await t.signIn();
    sub = (await t.app.store.db.select().from(t.app.store.tables.people))[0]?.id ?? '';
  });
  afterAll(() => t.close());

  test('are listed with the time up to which tokens count no more, and dropped after the longest lifetime', async () => {
    const now = Math.floor(t.app.clock().getTime() / 1_000);
    await endGrants(t.app, { grant: 'g1' });
    t.advance(2_000);
    await endGrants(t.app, { sub });
    await endGrants(t.app, { client_id: 'https://client.example.com/m.json' });
    expect(await listEnded(t.app)).toEqual([
      { client_id: 'https://client.example.com/m.json', before: now + 2, seq: 3 },
      { grant: 'g1', before: now, seq: 1 },
      { sub, before: now + 2, seq: 2 },
    ]);
    t.advance(60_000);
    await endGrants(t.app, { sub });
    expect(await listEnded(t.app)).toContainEqual({ sub, before: now + 62, seq: 4 });
    t.advance(DAY_MS + 600_000 - 1);
    expect(await listEnded(t.app)).toEqual([{ sub, before: now + 62, seq: 4 }]);
    t.advance(2);
    expect(await listEnded(t.app)).toEqual([]);
    await endGrants(t.app, { grant: 'g2' });
    const rows = await t.app.store.db.select().from(t.app.store.tables.ended_grants);
    expect(rows.map(({ id }) => id)).toEqual(['grant:g2']);
  });

  test('reach every connected host at once, and none when the transaction fails', async () => {
    const heard: HostEvent[] = [];
    const leave = t.app.hosts.connect('h1', (event) => heard.push(event));
    await endGrants(t.app, { grant: 'g3' });
    expect(heard).toHaveLength(1);
    expect(heard[0]).toMatchObject({ event: 'identity', data: { issuer: 'https://sluice.example.com' } });
    expect(JSON.stringify(heard[0])).toContain('"grant":"g3"');
    const failed = t.app.store.write(async (tx) => {
      await recordEndedGrants(t.app, tx, { grant: 'g4' });
      throw new Error('no');
    });
    expect(failed).rejects.toThrow('no');
    await failed.catch(() => undefined);
    expect(JSON.stringify(await listEnded(t.app))).not.toContain('g4');
    leave();
  });

  test('of an embedded database reach the hosts within a second, also when the command line ends them', async () => {
    const one = await testApp(PUBLIC, undefined, { metadata: 'sqlite' });
    const store = await openStore(`file:${join(one.directory, 'sluice.sqlite')}`);
    const heard: HostEvent[] = [];
    const leave = one.app.hosts.connect('h1', (event) => heard.push(event));
    const stop = followIdentity(one.app);
    try {
      await until(() => heard.length > 0);
      const began = performance.now();
      await store.write((tx) => recordEndedGrants({ ...one.app, store }, tx, { grant: 'far' }));
      await until(() => JSON.stringify(heard).includes('"grant":"far"'));
      expect(performance.now() - began).toBeLessThan(paced(1_000));
    } finally {
      stop();
      leave();
      await store.close();
      await one.close();
    }
  });
});

describeOnce(reachable.postgres)('several servers of one PostgreSQL database', () => {
  let database: TestDatabase;
  let servers: TestApp[];
  beforeAll(async () => {
    database = await testDatabase('postgresql');
    servers = [];
    for (let n = 0; n < 3; n++) servers.push(await testApp(PUBLIC, database.url));
  });
  afterAll(async () => {
    for (const server of servers ?? []) await server.close();
    await database?.drop();
  });

  test('make one pair of keys when all begin at once, and one of them rotates', async () => {
    const tokens = await Promise.all(Array.from({ length: 12 }, (_, n) => signAccessToken(servers[n % 3]!.app, CLAIMS, 3_600)));
    expect(await statesOf(servers[0]!.app)).toEqual(['current', 'next']);
    expect(new Set(tokens.map((token) => decodeProtectedHeader(token).kid)).size).toBe(1);
    for (const server of servers) server.advance(ROTATE_MS);
    const done = await Promise.all(servers.map(({ app }) => rotateKeys(app)));
    expect(done.filter(Boolean).length).toBeLessThanOrEqual(1);
    await rotateKeys(servers[1]!.app);
    expect(await statesOf(servers[0]!.app)).toEqual(['current', 'next', 'retired']);
  });

  test('hand what one of them ended to the hosts of the others within a second', async () => {
    const other = servers[1]!.app;
    const heard: HostEvent[] = [];
    const leave = other.hosts.connect('h2', (event) => heard.push(event));
    const stop = followIdentity(other);
    try {
      await until(() => heard.length > 0);
      const began = performance.now();
      await endGrants(servers[0]!.app, { grant: 'far' });
      await until(() => heard.some((event) => JSON.stringify(event).includes('"grant":"far"')));
      expect(performance.now() - began).toBeLessThan(paced(1_000));
    } finally {
      stop();
      leave();
    }
  });
});
