import { afterEach, beforeEach, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import type { LiveToken } from '#core/contract/deploy/control.ts';
import { pruneUsage } from '#core/control-plane/control-plane.ts';
import { isErrorBody, type TestApp, testApp } from '#test/support/app.ts';
import { reachable, testDatabase } from '#test/support/databases.ts';
import { listeningServer, type ListeningServer } from '#test/support/server.ts';
import { until } from '#test/support/until.ts';

let t: TestApp;
beforeEach(async () => {
  t = await testApp();
  await t.signIn();
});
afterEach(() => t.close());
const createToken = (body: object = { name: 'Claude' }) => t.send('mcp_tokens.create', { all_toolsets: true, ...body });
const stored = () => t.app.store.db.select().from(t.app.store.tables.mcp_tokens);
const historyOf = async (id: unknown) =>
  (await t.call('history.entity', { entity_type: 'mcp_token', entity_id: String(id) })).items;

test('what is not allowed is refused and nothing is stored', async () => {
  expect((await t.send('mcp_tokens.create', { name: 'a', all_toolsets: true }, { anonymous: true })).status).toBe(401);
  for (const body of [
    {},
    { name: '' },
    { name: 'a', idle_timeout_minutes: 0 },
    { name: 'a', idle_timeout_minutes: 1.5 },
    { name: 'a', scopes: [] },
  ]) {
    const answer = await createToken(body);
    expect([answer.status, isErrorBody(answer.body)]).toEqual([422, true]);
  }
  expect((await t.send('mcp_tokens.list', { limit: 101 })).status).toBe(422);
  expect(await stored()).toEqual([]);
});

test('a token is shown once and stored as a digest and a sealed bcrypt hash', async () => {
  const { status, body } = await createToken({ name: 'Claude', idle_timeout_minutes: 30 });
  expect(status).toBe(201);
  const { token, ...record } = body;
  expect(token).toMatch(/^svc_mcp_[A-Za-z0-9]{40}$/);
  expect(record).toEqual({
    id: expect.any(String),
    name: 'Claude',
    token_prefix: token.slice(0, 12),
    idle_timeout_minutes: 30,
    expires_at: '2026-05-30T12:00:00.000Z',
    rotation_ends_at: null,
    last_used_at: null,
    revoked: false,
    toolsets: null,
    claims: {},
    version: 1,
    created_at: '2026-03-01T12:00:00.000Z',
  });
  const list = await t.call('mcp_tokens.list', {});
  expect(list).toEqual({ items: [record], total: 1 });
  const [row] = await stored();
  expect(JSON.stringify(row)).not.toContain(token);
  expect(row?.digest).toBe(createHash('sha256').update(token).digest('hex'));
  const hash = t.app.keyring.open(row?.secret_hash.$sealed ?? '', `mcp_token/${row?.id}/secret_hash`);
  expect(hash).toStartWith('$2');
  expect(await Bun.password.verify(token, hash)).toBe(true);
  expect(JSON.stringify(t.log)).not.toContain(token);
});

test('the list is the newest first; a name may occur twice', async () => {
  for (const name of ['a', 'b', 'b']) await createToken({ name });
  const { items, total } = await t.call('mcp_tokens.list', { limit: 2 });
  expect([items.map(({ name }) => name), total]).toEqual([['b', 'b'], 3]);
});

test('a revoked token stays in the list as revoked for 30 days; the history tells both without secrets', async () => {
  const { id, token } = (await createToken()).body;
  await createToken({ name: 'other' });
  expect((await t.send('mcp_tokens.delete', { id })).status).toBe(204);
  expect((await t.send('mcp_tokens.delete', { id })).status).toBe(204);
  expect((await t.call('mcp_tokens.list', {})).items).toMatchObject([
    { name: 'other', revoked: false },
    { id, revoked: true },
  ]);
  const entries = await historyOf(id);
  expect(entries).toMatchObject([
    { action: 'delete', entity_name: 'Claude', actor: { type: 'admin', name: 'ada' } },
    { action: 'create', entity_name: 'Claude' },
  ]);
  const text = JSON.stringify(await t.app.store.db.select().from(t.app.store.tables.history));
  const [row] = (await stored()).filter((each) => each.id === id);
  for (const secret of [token, row?.digest ?? '-', row?.secret_hash.$sealed ?? '-']) expect(text).not.toContain(secret);
  expect((await t.send('history.rollback', { history_id: String(entries[0]?.id) })).status).toBe(422);
  t.advance(31 * 24 * 3_600_000);
  await pruneUsage(t.app);
  expect((await stored()).map(({ name }) => name)).toEqual(['other']);
});

test('what hosts tell of the use of a token moves only forwards', async () => {
  const { id } = (await createToken()).body;
  t.advance(10 * 60_000);
  for (const [seq, last_used_at] of ['2026-03-01T12:05:00.000Z', '2026-03-01T12:04:00.000Z'].entries()) {
    await t.request('POST', '/api/internal/hosts/h1/usage', {
      body: { boot_id: 'b', seq: seq + 1, token_uses: [{ id, last_used_at }] },
      headers: { 'x-service-token': t.app.env.SVC_AGENT_SERVICE_TOKEN },
    });
  }
  expect((await t.call('mcp_tokens.list', {})).items).toMatchObject([{ id, last_used_at: '2026-03-01T12:05:00.000Z' }]);
});

test('changes at the same moment reach hosts in an order that ends with all of them', async () => {
  const lists: string[][] = [];
  t.app.hosts.connect('h1', ({ event, data }) => {
    if (event === 'tokens') lists.push(data.tokens.map(({ name }) => name).toSorted());
  });
  await Promise.all(['a', 'b', 'c', 'd'].map((name) => createToken({ name })));
  expect(lists.at(-1)).toEqual(['a', 'b', 'c', 'd']);
});

/** A host's stream, as one reads it: the token lists and the names of all events so far. */
async function connectHost(s: ListeningServer) {
  const events: string[] = [];
  const lists: LiveToken[][] = [];
  const stop = new AbortController();
  const response = await fetch(`${s.url}/api/internal/hosts/stream?id=h-${crypto.randomUUID()}`, {
    headers: { 'x-service-token': s.service_token },
    signal: stop.signal,
  });
  void (async () => {
    let text = '';
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString();
      const parts = text.split('\n\n');
      text = parts.pop() ?? '';
      for (const part of parts) {
        const [event = '', data = ''] = part.split('\n').map((line) => line.replace(/^\w+: /, ''));
        events.push(event);
        if (event === 'tokens') lists.push((JSON.parse(data) as { tokens: LiveToken[] }).tokens);
      }
    }
  })().catch(() => undefined);
  await until(() => events.length >= 5);
  return { events, lists, stop: () => stop.abort() };
}

test('a change that was made on an older version is refused, and without a version the last one counts', async () => {
  const { id } = (await createToken()).body;
  const patch = (body: object) => t.send('mcp_tokens.update', { id, ...body });
  expect((await patch({ version: 1, name: 'Claude Code' })).body).toMatchObject({ name: 'Claude Code', version: 2 });
  const late = await patch({ version: 1, claims: { tenant: 'globex' } });
  expect([late.status, isErrorBody(late.body)]).toEqual([409, true]);
  expect(late.body.detail).toContain('version 2');
  expect((await patch({ version: 0 })).status).toBe(422);
  // What changes nothing is no version.
  expect((await patch({ version: 2, name: 'Claude Code' })).body.version).toBe(2);
  expect((await patch({ claims: { tenant: 'globex' } })).body).toMatchObject({ version: 3, claims: { tenant: 'globex' } });
  const entries = await historyOf(id);
  expect(entries.map(({ action, version_before, version_after }) => [action, version_before, version_after])).toEqual([
    ['update', 2, 3],
    ['update', 1, 2],
    ['create', null, 1],
  ]);
  expect(entries[0]?.changes).toEqual({ claims: { old: {}, new: { tenant: 'globex' } } });
});

/** @param database_url of both servers; null: one server with its own file. */
async function followedWithinASecond(database_url: string | null): Promise<void> {
  const mine = await listeningServer(database_url ?? undefined);
  const other = database_url === null ? mine : await listeningServer(database_url);
  try {
    await mine.signIn();
    const early = await mine.call('mcp_tokens.create', { name: 'early', all_toolsets: true });
    const connected = await connectHost(other);
    expect(connected.events.slice(0, 5)).toEqual(['tokens', 'identity', 'names', 'signed', 'stop']);
    expect(connected.lists[0]).toMatchObject([{ id: early.id, name: 'early', revoked: false, idle_timeout_minutes: null }]);
    const fresh = await mine.call('mcp_tokens.create', { name: 'fresh', idle_timeout_minutes: 5, all_toolsets: true });
    await until(() => connected.lists.at(-1)?.length === 2);
    const told = connected.lists.at(-1)?.find(({ id }) => id === fresh.id);
    expect(told?.digest).toBe(createHash('sha256').update(fresh.token).digest('hex'));
    expect(JSON.stringify(told)).not.toContain(fresh.token);
    await mine.call('mcp_tokens.delete', { id: early.id });
    await until(() => connected.lists.at(-1)?.find(({ id }) => id === early.id)?.revoked === true);
    connected.stop();
  } finally {
    await mine.stop();
    if (other !== mine) await other.stop();
  }
}

test('a connected host has the list first, and hears of a new and of a revoked token within a second', () =>
  followedWithinASecond(null));

test.skipIf(!reachable.postgres)(
  'so does a host that is connected to another server on the same PostgreSQL',
  async () => {
    const database = await testDatabase('postgresql');
    const { host, port, username, database: name } = database.settings;
    try {
      await followedWithinASecond(`postgres://${username}@${host}:${port}/${name}`);
    } finally {
      await database.drop();
    }
  },
  60_000,
);
