import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { HostEvent } from '#core/contract/deploy/control.ts';
import { isErrorBody, type TestApp, testApp } from '#test/support/app.ts';
import { storeExtras } from '#test/support/extras.ts';

let t: TestApp;
let file: string;
let connection_id: string;
let events: string[];
beforeEach(async () => {
  t = await testApp();
  await t.signIn();
  mkdirSync(join(t.directory, 'databases'));
  file = join(t.directory, 'databases/shop.sqlite');
  const db = new Database(file);
  db.run('create table products (id integer primary key, name text not null, price real)');
  db.close();
  const created = await t.call('connections.create', { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' });
  connection_id = created.id;
  events = [];
  connectHost('h1');
});
afterEach(() => t.close());

/** A host as the server sees one: it takes what it is sent and says so. */
function connectHost(id: string, refuse_listen = false): () => void {
  return t.app.hosts.connect(id, ({ event, data }: HostEvent) => {
    events.push(event);
    const sent = (typeof data === 'string' ? JSON.parse(data) : data) as Record<string, unknown>;
    const request_id = typeof sent['request_id'] === 'string' ? sent['request_id'] : null;
    if (event !== 'snapshot' && event !== 'listen') return;
    queueMicrotask(() =>
      t.app.hosts.acknowledge(id, {
        boot_id: 'b',
        version: Number(sent['version'] ?? 0),
        checksum: typeof sent['checksum'] === 'string' ? sent['checksum'] : null,
        load_ms: 1,
        url: 'http://127.0.0.1:8080',
        error: event === 'listen' && refuse_listen ? 'The address is in use.' : null,
        request_id,
      }),
    );
  });
}

const tool = (over: object = {}) =>
  t.send('tools.create', {
    connection_id,
    name: 'products',
    description: 'All products',
    sql_query: 'select id, name from products',
    ...over,
  });
const status = async () => await t.call('deploy.status', {});

test('a deploy freezes, numbers and sends; the same configuration again changes nothing', async () => {
  await tool();
  expect(await status()).toMatchObject({ status: 'stopped', snapshot_version: null });
  const first = await t.send('deploy.run', { note: 'hello' });
  expect(first.status).toBe(200);
  expect(first.body).toMatchObject({
    status: 'running',
    snapshot_version: 1,
    changed: true,
    counts: { connections: 1, tools: 1 },
  });
  expect(first.body.hosts).toMatchObject([{ id: 'h1', load_ms: 1 }]);
  expect(first.body.checksum).toMatch(/^sha256:[0-9a-f]{64}$/);
  const again = await t.send('deploy.run');
  expect(again.body).toMatchObject({ snapshot_version: 1, changed: false, checksum: first.body.checksum });
  expect(await status()).toMatchObject({ status: 'running', snapshot_version: 1, pending_changes: 0, last_error: null });
});

test('a listener on every address without credentials is named in every receipt', async () => {
  await tool();
  await t.call('config.update', { host: '0.0.0.0' });
  for (const answer of [await t.send('deploy.run'), await t.send('deploy.run')])
    expect(String(answer.body.warnings)).toContain('no credentials');
});

test('what waits for a deploy is counted and shown with what breaks', async () => {
  await tool();
  await t.send('deploy.run');
  const page = await t.call('tools.list', {});
  const [row] = page.items as { id: string }[];
  await t.send('tools.update', {
    id: row?.id,
    sql_query: 'select id from products where name = :name',
    parameters: [{ name: 'name', type: 'string' }],
  });
  await tool({ name: 'other' });
  expect((await status()).pending_changes).toBe(2);
  const diff = await t.call('deploy.diff', {});
  expect(diff.from_version).toBe(1);
  expect(diff.changes).toMatchObject([
    { name: 'other', change: 'added' },
    {
      name: 'products',
      change: 'changed',
      breaking: ['The argument name of this tool is now required.', 'name is no longer in the result of this tool.'],
    },
  ]);
});

test('a deploy with the checksum of the changes that were read is refused when others were made since', async () => {
  await tool();
  const diff = async () => (await t.call('deploy.diff', {})).checksum;
  const read = await diff();
  expect(read).toMatch(/^sha256:/);
  await tool({ name: 'other' });
  for (const body of [{ checksum: read }, { checksum: read, dry_run: true }]) {
    const refused = await t.send('deploy.run', body);
    expect(refused.status).toBe(409);
    expect(refused.body).toMatchObject({ detail: expect.stringContaining('changed since you read it') as string });
  }
  expect(await status()).toMatchObject({ status: 'stopped', snapshot_version: null, last_error: null });
  expect((await t.send('deploy.run', { checksum: 'sha256:short' })).status).toBe(422);
  const rehearsed = await t.send('deploy.run', { dry_run: true, checksum: await diff() });
  expect((await t.send('deploy.run', { checksum: rehearsed.body.checksum })).body).toMatchObject({
    changed: true,
    snapshot_version: 1,
  });
  expect((await t.send('deploy.run', { checksum: await diff() })).body).toMatchObject({ changed: false, snapshot_version: 1 });
});

test('a changed description by the database deploys under the checksum of the changes that were read', async () => {
  await tool();
  const { checksum } = await t.call('deploy.diff', {});
  const db = new Database(file);
  db.run('alter table products rename to old');
  db.run('create table products (id text primary key, name integer)');
  db.close();
  const deployed = await t.send('deploy.run', { checksum });
  expect(deployed.body).toMatchObject({ snapshot_version: 1, changed: true });
});

test('an added definition is shown in full with what it can do to rows, and a superuser is named', async () => {
  await t.call('connections.update', { id: connection_id, read_only: false });
  const parameters = [{ name: 'id', type: 'integer' }];
  await tool({
    name: 'forget',
    parameters,
    sql_query: "delete from products where name <> 'drop' and id = :id",
    read_only: false,
  });
  await tool({
    name: 'rename',
    parameters,
    sql_query: "update products set name = 'delete' where id = :id -- drop",
    read_only: false,
  });
  await tool({ name: 'look', sql_query: "select 'delete' as name" });
  const body = await t.call('deploy.diff', {});
  const changes = body.changes;
  const named = (name: string) => changes.find((change) => change.name === name);
  expect(['forget', 'rename', 'look'].map((name) => named(name)?.risks)).toEqual([['deletes_rows'], ['changes_rows'], []]);
  expect(named('forget')?.values['sql_query']).toEqual({
    old: null,
    new: "delete from products where name <> 'drop' and id = :id",
  });
  expect(named('forget')).toMatchObject({ connection_id: expect.any(String), fields: [] });
});

test('a dry run answers and changes nothing', async () => {
  await tool();
  const answer = await t.send('deploy.run', { dry_run: true });
  expect(answer.body).toMatchObject({ status: 'stopped', snapshot_version: null, changed: true, counts: { tools: 1 } });
  expect(events).toEqual([]);
  expect(await status()).toMatchObject({ status: 'stopped', snapshot_version: null });
});

test('a statement that no longer prepares refuses the deploy, and the old snapshot goes on', async () => {
  await tool();
  await tool({ name: 'prices', sql_query: 'select price from products' });
  await tool({ name: 'names', sql_query: 'select name from products' });
  await t.send('deploy.run');
  const db = new Database(file);
  db.run('alter table products rename column name to title');
  db.close();
  await tool({ name: 'titles', sql_query: 'select title from products' });
  const before = events.length;
  const refused = await t.send('deploy.run');
  expect(refused.status).toBe(422);
  expect(isErrorBody(refused.body)).toBe(true);
  expect(refused.body.detail).toContain('Tool names:');
  expect(refused.body.detail).toContain('Tool products:');
  expect(refused.body.detail).not.toContain('prices');
  expect(events.slice(before)).toEqual([]);
  expect(await status()).toMatchObject({ status: 'running', snapshot_version: 1, last_error: refused.body.detail });
});

test('a column that the database describes in another way reaches the output schema', async () => {
  await tool({ sql_query: 'select * from products' });
  await t.send('deploy.run');
  const db = new Database(file);
  db.run('alter table products add column colour text');
  db.close();
  expect((await t.send('deploy.run')).body).toMatchObject({ snapshot_version: 2, changed: true });
  const page = await t.call('tools.list', {});
  expect(JSON.stringify(page)).toContain('colour');
});

test('a database that is down is a warning at deploy', async () => {
  const down = await t.call('connections.create', {
    name: 'down',
    db_type: 'postgresql',
    host: '127.0.0.1',
    port: 1,
    database: 'x',
    username: 'x',
  });
  await tool({ connection_id: down.id, sql_query: 'select 1 as one' });
  const answer = await t.send('deploy.run');
  expect(answer.status).toBe(200);
  expect(String(answer.body.warnings)).toContain('down');
});

test('stop and deploy again: hosts hear both, the version stays', async () => {
  await tool();
  await t.send('deploy.run');
  expect(await t.call('deploy.stop', {})).toEqual({ status: 'stopped' });
  expect(await status()).toMatchObject({ status: 'stopped', snapshot_version: 1 });
  expect((await t.send('deploy.run')).body).toMatchObject({ status: 'running', snapshot_version: 1, changed: false });
  expect(events).toEqual(['listen', 'signed', 'snapshot', 'stop', 'signed', 'snapshot']);
});

test('a host that cannot open the address refuses the deploy and nothing is stored', async () => {
  connectHost('h2', true);
  await tool();
  const answer = await t.send('deploy.run');
  expect(answer.status).toBe(422);
  expect(answer.body.detail).toContain('The address is in use.');
  expect(await status()).toMatchObject({ status: 'error', snapshot_version: null });
  expect(events).not.toContain('snapshot');
});

test('deploys at the same moment take turns and none is refused', async () => {
  await tool();
  const answers = await Promise.all([t.send('deploy.run'), t.send('deploy.run'), t.send('deploy.run')]);
  expect(answers.map((answer) => [answer.status, answer.body.snapshot_version])).toEqual([
    [200, 1],
    [200, 1],
    [200, 1],
  ]);
});

test('hosts gone for more than 10 s are an error, and a host that returns restores running', async () => {
  await tool();
  await t.send('deploy.run');
  const leave = connectHost('h1');
  leave();
  expect(await status()).toMatchObject({ status: 'running' });
  t.advance(10_001);
  expect(await status()).toMatchObject({ status: 'error', last_error: expect.stringContaining('No MCP host') });
  connectHost('h1');
  expect(await status()).toMatchObject({ status: 'running', last_error: null });
});

test('a client on standard input does not stand in for the host that listens', async () => {
  await tool();
  await t.send('deploy.run');
  connectHost('stdio:desk-1');
  connectHost('h1')();
  t.advance(9_000);
  // A client that comes and goes is no sign of life either.
  connectHost('stdio:desk-2')();
  t.advance(1_001);
  expect(await status()).toMatchObject({ status: 'error', last_error: expect.stringContaining('No MCP host') });
  connectHost('h1');
  expect(await status()).toMatchObject({ status: 'running', last_error: null });
});

test('who stopped the server and who started it again stands in the history', async () => {
  await tool();
  await t.send('deploy.run');
  const stop = () => t.send('deploy.stop');
  const entries = async () => (await t.call('history.list', { entity_type: 'snapshot' })).items;
  await stop();
  await stop();
  await t.send('deploy.run');
  await t.send('deploy.run');
  const status = (from: string, to: string) => ({
    action: 'update',
    entity_name: 'v1',
    actor: { type: 'admin', name: 'ada' },
    changes: { status: { old: from, new: to } },
  });
  expect(await entries()).toMatchObject([status('stopped', 'running'), status('running', 'stopped'), { action: 'deploy' }]);
  const [entry] = await entries();
  expect((await t.send('history.rollback', { history_id: String(entry?.id) })).status).toBe(422);
});

test('the generated project is answered and written, without any secret', async () => {
  await storeExtras(t.app, connection_id, { api_token: 'canary-token' });
  await tool();
  expect((await t.send('server.generated')).status).toBe(404);
  await t.send('deploy.run');
  const body = await t.call('server.generated', {});
  expect(body).toMatchObject({ snapshot_version: 1, language: 'typescript' });
  const text = JSON.stringify(body.files);
  expect(text).toContain('select id, name from products');
  expect(text).not.toContain('canary');
  expect(text).not.toContain('$sealed');
  expect((await t.send('server.generated', { snapshot: 9 })).status).toBe(404);
});

test('the generated project of a toolset holds what the toolset holds', async () => {
  await tool({ name: 'in_sales', tags: ['sales'] });
  await tool({ name: 'loose' });
  const include = { tags: ['sales'], connection_ids: [], tool_ids: [], resource_ids: [], prompt_ids: [] };
  await t.call('toolsets.create', { name: 'sales', title: 'Sales', description: 'Orders', include });
  await t.send('deploy.run');
  const paths = async (query: string) => {
    const { status, body } = await t.request('GET', `/api/v1/server/generated${query}`);
    expect([status, body['toolsets']]).toEqual([200, ['sales']]);
    const files = body['files'] as { path: string }[];
    return files.map(({ path }) => path).filter((path) => /^src\/tools\/(?!index)/.test(path));
  };
  expect(await paths('')).toEqual(['src/tools/in_sales.ts', 'src/tools/loose.ts']);
  expect(await paths('?toolset=sales')).toEqual(['src/tools/in_sales.ts']);
  const unknown = await t.send('server.generated', { toolset: 'other' });
  expect([unknown.status, unknown.body.detail]).toEqual([422, expect.stringContaining('Version 1 has no toolset other.')]);
});

test('health names the server, its hosts, counts and databases', async () => {
  await tool();
  await t.send('deploy.run');
  const body = await t.call('server.health', {});
  expect(body).toMatchObject({
    status: 'running',
    snapshot_version: 1,
    server_name: 'Sluice',
    transport: 'http',
    auth_type: 'none',
    counts: { connections: 1, tools: 1 },
    hosts: [{ id: 'h1', snapshot_version: 1 }],
    connections: [{ name: 'shop', healthy: true }],
  });
});

test('a secret sealed again with a new key changes neither the checksum nor the pool', async () => {
  const { freeze } = await import('#snapshots/freeze/freeze.ts');
  const { createKeyring } = await import('#core/lib/secrets.ts');
  const fingerprint_key = new Uint8Array(32).fill(7);
  const seal = (key: string) => ({ $sealed: createKeyring([key], fingerprint_key).seal('secret', 'connection/c/password') });
  const [row] = await t.app.store.db.select().from(t.app.store.tables.connections);
  const [stored] = (await tool()).body.id ? await t.app.store.db.select().from(t.app.store.tables.tools) : [];
  if (row === undefined || stored === undefined) throw new Error('nothing stored');
  const { readServerConfig } = await import('#core/settings/settings.ts');
  const with_password = async (key: string) =>
    freeze({
      server: await readServerConfig(t.app),
      connections: [{ ...row, password: seal(key) }],
      tools: [stored],
      resources: [],
      prompts: [],
      compiled: new Map(),
      allow_passthrough_sql: false,
    });
  const [a, b] = [await with_password('a'.repeat(32)), await with_password('b'.repeat(32))];
  expect(a.content.connections[0]?.password).not.toEqual(b.content.connections[0]?.password);
  expect(a.tree.text).toBe(b.tree.text);
  expect(a.tree.checksum).toBe(b.tree.checksum);
  expect(a.content.connections[0]?.pool_key).toBe(b.content.connections[0]?.pool_key);
});
