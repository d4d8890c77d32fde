import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { HostEvent } from '#core/contract/deploy/control.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { storeExtras } from '#test/support/extras.ts';

let t: TestApp;
let sent: { event: string; version: unknown; has_delta: boolean }[];
let tool_path: string;
beforeEach(async () => {
  t = await testApp();
  await t.signIn();
  mkdirSync(join(t.directory, 'databases'));
  new Database(join(t.directory, 'databases/shop.sqlite')).run('create table products (id integer primary key)');
  sent = [];
  t.app.hosts.connect('h1', ({ event, data }: HostEvent) => {
    const said = (typeof data === 'string' ? JSON.parse(data) : data) as Record<string, unknown>;
    sent.push({ event, version: said['version'], has_delta: 'delta' in said });
    const request_id = typeof said['request_id'] === 'string' ? said['request_id'] : null;
    const checksum = typeof said['checksum'] === 'string' ? said['checksum'] : null;
    const version = typeof said['version'] === 'number' ? said['version'] : null;
    queueMicrotask(() =>
      t.app.hosts.acknowledge('h1', { boot_id: 'b', version, checksum, load_ms: 1, url: null, error: null, request_id }),
    );
  });
  const connection = await t.call('connections.create', { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' });
  await storeExtras(t.app, connection.id, { api_token: 'canary-token' });
  const tool = await t.call('tools.create', {
    connection_id: connection.id,
    name: 'one',
    description: 'One',
    sql_query: 'select 1 as one',
  });
  tool_path = `/api/v1/tools/${tool.id}`;
  await t.call('deploy.run', { note: 'first' });
  await t.request('PATCH', tool_path, { body: { sql_query: 'select 2 as two', description: 'Two' } });
  await t.call('deploy.run', { note: 'second' });
});
afterEach(() => t.close());

test('snapshots are listed with who made them and which one is active', async () => {
  const page = await t.call('snapshots.list', {});
  expect(page).toMatchObject({
    total: 2,
    items: [
      { version: 2, active: true, note: 'second', counts: { tools: 1 }, actor: { type: 'admin', name: 'ada' } },
      { version: 1, active: false, note: 'first' },
    ],
  });
});

test('each version says what it changed, and a restored one by whom and in place of which version', async () => {
  const stories = async () =>
    (await t.call('snapshots.list', {})).items.map(({ version, summary, same_as, restored }) => [
      version,
      summary,
      same_as,
      restored?.from_version ?? null,
    ]);
  expect(await stories()).toEqual([
    [2, 'Tool one changed', null, null],
    [1, 'Connection shop added, tool one added', null, null],
  ]);
  expect((await t.call('snapshots.get', { version: 2 })).summary).toBe('Tool one changed');
  t.advance(60_000);
  await t.call('snapshots.activate', { version: 1 });
  expect((await t.call('snapshots.list', {})).items[1]).toMatchObject({
    active: true,
    restored: { from_version: 2, at: expect.any(String), by: 'ada' },
  });
  // The working copy still differs from what was restored: version 3 has the content of version 2.
  await t.call('deploy.run', {});
  await t.call('config.update', { server_name: 'Shop' });
  await t.request('DELETE', tool_path);
  await t.call('deploy.run', {});
  expect(await stories()).toEqual([
    [4, 'Settings changed, connection shop deleted, tool one deleted', null, null],
    [3, 'Tool one changed', 2, null],
    [2, 'Tool one changed', null, null],
    [1, 'Connection shop added, tool one added', null, 2],
  ]);
});

test('a version that only an import changed says so in one line', async () => {
  const exported = await t.call('transfer.export', {});
  const [tool] = exported.tools;
  const tools = ['first', 'second'].map((name) => ({ ...tool, name }));
  await t.call('transfer.import', { ...exported, tools });
  await t.call('deploy.run', {});
  expect((await t.call('snapshots.list', {})).items[0]?.summary).toBe('Import: tools first and second added');
});

test('one is shown with its content and without any secret', async () => {
  const snapshot = await t.call('snapshots.get', { version: 1 });
  expect(snapshot).toMatchObject({ version: 1, content: { tools: [{ name: 'one' }] } });
  expect(JSON.stringify(snapshot)).not.toContain('$sealed');
  expect(JSON.stringify(snapshot)).not.toContain('canary');
  for (const version of ['9', '0', 'x', '1.5', '-1', '99999999999']) {
    expect((await t.send('snapshots.get', { version })).status).toBe(404);
  }
});

test('two are compared in the words of the tools', async () => {
  const body = await t.call('snapshots.diff', { from: 1, to: 2 });
  expect(body).toEqual({
    from_version: 1,
    to_version: 2,
    changes: [
      {
        entity_type: 'tool',
        name: 'one',
        connection_id: expect.any(String),
        change: 'changed',
        fields: ['description', 'output_schema', 'sql_query'],
        values: {
          description: { old: 'One', new: 'Two' },
          output_schema: { old: expect.any(Object), new: expect.any(Object) },
          sql_query: { old: 'select 1 as one', new: 'select 2 as two' },
        },
        risks: [],
        breaking: ['one is no longer in the result of this tool.'],
      },
    ],
  });
  expect((await t.send('snapshots.diff', { from: 1, to: 9 })).status).toBe(404);
});

test('a comparison shows statements as they are written and no secret', async () => {
  const connection = String((await t.request('GET', tool_path)).body['connection_id']);
  await storeExtras(t.app, connection, { api_token: 'canary-other' });
  await t.request('PATCH', tool_path, {
    body: {
      sql_query: 'select 2 as two where 1 in (:ids) [[and 2 = :two]]',
      parameters: [
        { name: 'ids', type: 'array', items: 'integer' },
        { name: 'two', type: 'integer', required: false },
      ],
    },
  });
  const body = await t.call('deploy.diff', {});
  expect(body.changes).toMatchObject([
    {
      entity_type: 'connection',
      values: { extra_params: { old: { api_token: '[redacted]' }, new: { api_token: '[redacted]' } } },
    },
    { entity_type: 'tool', values: { sql_query: { new: 'select 2 as two where 1 IN (:ids) [[and 2 = :two]]' } } },
  ]);
  expect(JSON.stringify(body)).not.toMatch(/canary|sealed/);
});

test('an earlier one is served again at once; the working copy stays and counts as pending', async () => {
  const before = await t.request('GET', tool_path);
  const answer = await t.call('snapshots.activate', { version: 1 });
  expect(answer).toMatchObject({ status: 'running', snapshot_version: 1, changed: true, hosts: [{ id: 'h1' }] });
  expect(sent.at(-1)).toEqual({ event: 'snapshot', version: 1, has_delta: true });
  expect((await t.request('GET', tool_path)).body).toEqual(before.body);
  expect(await t.call('deploy.status', {})).toMatchObject({ snapshot_version: 1, pending_changes: 1 });
  const again = await t.call('deploy.run', {});
  expect(again).toMatchObject({ snapshot_version: 3, changed: true });
  expect((await t.send('snapshots.activate', { version: 9 })).status).toBe(404);
});

test('a stopped server starts with the snapshot that is activated', async () => {
  await t.call('deploy.stop', {});
  expect(await t.call('snapshots.activate', { version: 2 })).toMatchObject({
    status: 'running',
    changed: false,
  });
  expect(await t.call('deploy.status', {})).toMatchObject({ status: 'running', snapshot_version: 2 });
});

test('a hundred are kept, the active one among them', async () => {
  for (let n = 0; n < 101; n++) {
    await t.request('PATCH', tool_path, { body: { description: `Version ${n}` } });
    await t.call('deploy.run', {});
  }
  const page = await t.call('snapshots.list', { limit: 100 });
  expect(page.total).toBe(100);
  expect(page.items).toMatchObject([{ version: 103, active: true }, ...Array.from({ length: 99 }, () => ({ active: false }))]);
}, 60_000);

test('of many records of a kind a version says how many', async () => {
  const exported = await t.call('transfer.export', {});
  const [tool] = exported.tools;
  await t.call('transfer.import', { ...exported, tools: ['a1', 'a2', 'a3'].map((name) => ({ ...tool, name })) });
  await t.call('deploy.run', {});
  expect((await t.call('snapshots.list', {})).items[0]?.summary).toBe('Import: 3 tools added');
});
