import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { OVERLAP_MS, publishedKeys, readKeys, rotateDefinitionKeys, ROTATE_MS } from '#core/deploy/signing/keys.ts';
import { keepSigning } from '#core/deploy/signing/sign.ts';
import type { Stage } from '#test/server/deploy/candidate-support.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { reachable, testDatabase } from '#test/support/databases.ts';
import { until } from '#test/support/until.ts';
import { KEYS_PATH, PATH, type SignedBody, signedStage, verifier } from './signed-support.ts';

const { verify, remove } = verifier();
afterAll(remove);

describe('the lists of a host', () => {
  let s: Stage;
  beforeAll(async () => {
    s = await signedStage();
  });
  afterAll(() => s.close());
  const origin = () => s.hosts[0]!.mcp.origin;
  const answer = async (below = '', token?: string): Promise<SignedBody> => {
    const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return (await (await fetch(`${origin()}${PATH}${below}`, { headers })).json()) as SignedBody;
  };
  const check = (name: string, below: string, ...more: string[]) =>
    verify(name, '--write', '--url', `${origin()}${below}`, ...more);

  test('a toolset has its own signed list, which covers the tool that finds tools', async () => {
    expect(await answer('/mcp/sales')).toMatchObject({
      list: 'sales',
      size: 1,
      definitions: { 'tools/largest': expect.any(String) as string },
    });
    expect(await check('sales.lock', '/mcp/sales')).toMatchObject({ code: 0 });
    expect(await verify('sales.lock')).toMatchObject({ code: 0 });
  });

  test('a part of a list is proven without naming what is hidden', async () => {
    const whole = await answer();
    const part = await answer('/mcp/readonly');
    expect(part).toMatchObject({ list: '', root: whole.root, size: 5, signature: whole.signature });
    expect(part.definitions).not.toHaveProperty('tools/add_order');
    expect(part.proof!.hidden.length).toBeGreaterThan(0);
    expect(JSON.stringify(part)).not.toContain('add_order');
    expect(await check('part.lock', '/mcp/readonly')).toMatchObject({ code: 0 });
    expect(await check('tag.lock', '/mcp/tag/sales')).toMatchObject({ code: 0 });
    expect(await check('none.lock', '/mcp/tag/unused')).toMatchObject({ code: 0 });
  });

  test('a token of a toolset gets a proof for its part of everything', async () => {
    await s.t.call('config.update', { auth_type: 'bearer' });
    const { token } = (await s.t.send('mcp_tokens.create', { name: 'sales', toolsets: ['sales'] })).body as { token: string };
    await s.t.call('deploy.run', {});
    await until(async () => (await fetch(`${origin()}${PATH}`)).status === 401);
    await until(async () => (await answer('', token)).size === 5);
    expect(Object.keys((await answer('', token)).definitions)).toEqual(['tools/largest']);
    expect(await check('token.lock', '', '--token', token)).toMatchObject({ code: 0 });
    expect(await check('token.lock', '/mcp/sales', '--token', token)).toMatchObject({ code: 0 });
    // Keys need no credential.
    expect((await fetch(`${origin()}${KEYS_PATH}`)).status).toBe(200);
    expect((await fetch(`${origin()}${KEYS_PATH}`, { method: 'POST' })).status).toBe(405);
    await s.t.call('config.update', { auth_type: 'none' });
    await s.t.call('deploy.run', {});
  });

  test('a candidate has a signed list of its own, and the callers of a canary get that of its version', async () => {
    await s.edit({ description: 'The orders, largest first.' });
    const made = await s.t.call('candidates.create', {});
    const { candidate, token } = made as unknown as { candidate: string; token: string };
    const path = `/mcp/candidate/${candidate}`;
    await until(async () => (await answer(path, token)).list !== undefined);
    expect(await answer(path, token)).toMatchObject({ list: `candidate/${candidate}`, size: 5, checksum: made.checksum });
    expect(await check('candidate.lock', path, '--token', token)).toMatchObject({ code: 0 });
    expect((await fetch(`${origin()}${PATH}${path}`)).status).toBe(401);
    const live = await answer();
    const begun = await s.send('POST', 'deploy', { candidate, canary: { percent: 50, minutes: 10 } });
    expect(begun.status).toBe(200);
    // Callers of both sides get a signature for what they see.
    const seen = new Map<string, SignedBody>();
    await until(async () => {
      const headers = { 'mcp-session-id': crypto.randomUUID() };
      const now = (await (await fetch(`${origin()}${PATH}`, { headers })).json()) as SignedBody;
      seen.set(now.checksum, now);
      return seen.size === 2;
    });
    expect([...seen.keys()].toSorted()).toEqual([live.checksum, made.checksum].toSorted());
    for (const { list, signature } of seen.values()) expect([list, signature === undefined]).toEqual(['', false]);
    expect(await check('canary.lock', '')).toMatchObject({ code: 0 });
    expect(await check('canary.lock', '/mcp/sales')).toMatchObject({ code: 0 });
    expect((await s.send('POST', 'deploy/promote', {})).status).toBe(200);
    await until(async () => (await answer()).snapshot_version === live.snapshot_version + 1);
    expect(await check('promoted.lock', '')).toMatchObject({ code: 0 });
  });

  test('a host never serves a new version without its signature', async () => {
    let unsigned = 0;
    const deployed = new AbortController();
    const watching = (async () => {
      while (!deployed.signal.aborted) if ((await answer()).signature === undefined) unsigned++;
    })();
    for (const round of ['one', 'two', 'three']) {
      await s.edit({ description: `Orders, round ${round}.` });
      await s.t.call('deploy.run', {});
    }
    deployed.abort();
    await watching;
    expect(unsigned).toBe(0);
  });

  test('a restarted host has its signatures from disk while the server is away', async () => {
    const before = await answer();
    const old_origin = origin();
    await s.cutOff();
    // The server cannot be reached, so the connection of the host never comes.
    const restarted = s.restartHost('first').catch(() => undefined);
    const { readFile } = await import('node:fs/promises');
    const stored = await readFile(`${s.t.directory}/first/signatures.json`, 'utf8');
    expect(JSON.parse(stored)).toMatchObject({
      lists: expect.arrayContaining([expect.objectContaining({ signature: before.signature })]),
    });
    await Promise.race([restarted, until(() => ![old_origin, 'http://not-listening'].includes(origin()))]);
    expect((await answer()).signature).toBe(before.signature);
    expect(await check('away.lock', '')).toMatchObject({ code: 0 });
  });
});

describe('the keys', () => {
  let t: TestApp;
  beforeAll(async () => {
    t = await testApp();
  });
  afterAll(() => t.close());
  const rows = () => t.app.store.db.select().from(t.app.store.tables.definition_keys);
  const states = async () => (await rows()).map(({ state }) => state).toSorted();

  test('rotate every 90 days, the next one published before it signs, the old one for 30 days after', async () => {
    expect(await rotateDefinitionKeys(t.app)).toBe(true);
    expect(await states()).toEqual(['current', 'next']);
    expect(await rotateDefinitionKeys(t.app)).toBe(false);
    const next = (await rows()).find(({ state }) => state === 'next')!.kid;
    const old = (await readKeys(t.app)).current!.kid;
    t.advance(ROTATE_MS);
    expect(await rotateDefinitionKeys(t.app)).toBe(true);
    expect(await states()).toEqual(['current', 'next', 'retired']);
    expect((await readKeys(t.app)).current?.kid).toBe(next);
    const retired = (await rows()).find(({ kid }) => kid === old);
    expect(retired).toMatchObject({ state: 'retired', private_key: null });
    t.advance(OVERLAP_MS);
    expect(await rotateDefinitionKeys(t.app)).toBe(false);
    expect((await publishedKeys(t.app)).map(({ kid }) => kid)).toContain(old);
    t.advance(1);
    expect(await rotateDefinitionKeys(t.app)).toBe(true);
    expect((await publishedKeys(t.app)).map(({ kid }) => kid)).not.toContain(old);
  });

  test('are sealed at rest, and neither exported nor shown', async () => {
    await t.signIn();
    const text = JSON.stringify(await rows());
    expect(text).toContain('$sealed');
    expect(text).not.toContain('"d":');
    const [key] = await rows();
    const exported = JSON.stringify((await t.send('transfer.export', {})).body);
    expect(exported).not.toContain(key!.kid);
    const shown = JSON.stringify((await t.request('GET', KEYS_PATH, { anonymous: true })).body);
    expect(shown).toContain(key!.kid);
    expect(shown).not.toMatch(/"d"|sealed/);
  });
});

if (reachable.postgres)
  test('two servers of one database sign with one key, also when both start at once', async () => {
    const database = await testDatabase('postgresql');
    const servers = [await testApp({}, database.url), await testApp({}, database.url)];
    try {
      const stops = servers.map(({ app }) => keepSigning(app));
      await until(async () => (await publishedKeys(servers[0]!.app)).length > 0);
      for (const stop of stops) stop();
      await Promise.all(servers.map(({ app }) => rotateDefinitionKeys(app)));
      const kids = await Promise.all(servers.map(async ({ app }) => (await readKeys(app)).current?.kid));
      expect(kids[0]).toBeDefined();
      expect(kids[1]).toBe(kids[0]);
      expect(await publishedKeys(servers[1]!.app)).toHaveLength(2);
    } finally {
      for (const server of servers) await server.close();
      await database.drop();
    }
  });
