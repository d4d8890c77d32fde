import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestApp, testApp } from '#test/support/app.ts';
import { connectHost } from '#test/support/host.ts';

/** The gate `tests`: which tests a deploy runs, and what it does with those that fail. */
let t: TestApp;
let connection_id: string;
let tool: string;
const PROBLEM = { accept: 'application/problem+json' };
const api = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
  t.request(method, `/api/v1${path}`, {
    headers: { ...PROBLEM, ...headers },
    anonymous: 'authorization' in headers,
    ...(body && { body }),
  });
const deployWith = (body: object = {}, headers?: Record<string, string>) => api('POST', '/deploy', body, headers);
const GOOD = 'select id, name from products where id = :id';
const WRONG = 'select id, name from products where id <> :id';

beforeEach(async () => {
  t = await testApp();
  await t.signIn();
  connectHost(t.app);
  mkdirSync(join(t.directory, 'databases'));
  const db = new Database(join(t.directory, 'databases/shop.sqlite'));
  db.run('create table products (id integer primary key, name text)');
  db.run("insert into products values (1, 'tea'), (2, 'cup')");
  db.close();
  // What it finds is no business of these tests.
  await api('PATCH', '/server/config', { deploy_gates: { lint: 'off' } });
  connection_id = String(
    (await api('POST', '/connections', { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' })).body['id'],
  );
  const parameters = [{ name: 'id', type: 'integer' }];
  const made = await api('POST', '/tools', { connection_id, name: 'product', description: 'One', sql_query: GOOD, parameters });
  tool = String(made.body['id']);
  await api('POST', '/tests', {
    owner: { kind: 'tool', id: tool },
    name: 'finds tea',
    arguments: { id: 1 },
    expect: { equals: [{ id: 1, name: 'tea' }] },
  });
  expect((await deployWith()).body).toMatchObject({ snapshot_version: 1, warnings: [] });
});
afterEach(() => t.close());

const change = (body: object) => api('PATCH', `/tools/${tool}`, body);
const SENTENCE = 'Tool product, test "finds tea": [0].id is not 1.';

test('wrong rows block the deploy until they are right, or a person allows them', async () => {
  await change({ sql_query: WRONG });
  for (const body of [{ dry_run: true }, {}]) {
    const blocked = await deployWith(body);
    expect([blocked.status, blocked.body.code, blocked.body.detail]).toEqual([
      422,
      'gate_failed',
      `Blocked by the gate tests. ${SENTENCE}`,
    ]);
    expect(blocked.body.errors).toEqual([{ field: 'tool.product', message: SENTENCE, gate: 'tests' }]);
  }
  expect((await api('GET', '/deploy/status')).body).toMatchObject({ snapshot_version: 1 });
  const token = (await api('POST', '/agent-tokens', { name: 'ci', duration_minutes: 60, scopes: ['read', 'write', 'deploy'] }))
    .body;
  const bearer = { authorization: `Bearer ${String(token['token'])}` };
  expect((await deployWith({}, bearer)).status).toBe(422);
  expect((await deployWith({ allow: ['tests'] }, bearer)).body).toMatchObject({ code: 'admin_only' });
  expect((await deployWith({ allow: ['tests'], note: 'Known' })).body).toMatchObject({
    snapshot_version: 2,
    warnings: [SENTENCE],
  });
  await change({ sql_query: GOOD });
  expect((await deployWith({}, bearer)).body).toMatchObject({ snapshot_version: 3, warnings: [] });
});

test('only tests of what changed run, and those of what depends on it', async () => {
  const runs = async () => (await api('GET', '/tests')).body['items'] as { id: string; last: { created_at: string } }[];
  const count = async () => (await api('GET', `/tests/${(await runs())[0]?.id}/results`)).body['total'];
  expect(await count()).toBe(1);
  await deployWith();
  await api('POST', '/tools', { connection_id, name: 'other', description: 'Other', sql_query: 'select 1 as one' });
  await deployWith();
  expect(await count()).toBe(1);
  await api('PATCH', `/connections/${connection_id}`, { max_rows: 10 });
  await deployWith();
  expect(await count()).toBe(2);
  await api('PATCH', '/server/config', { global_variables: { region: 'north' } });
  await deployWith();
  expect(await count()).toBe(3);
  await change({ sql_query: WRONG, enabled: false });
  expect((await deployWith()).status).toBe(200);
});

test('a disabled test and a gate that is off let the change pass', async () => {
  await change({ sql_query: WRONG });
  const [item] = (await api('GET', '/tests')).body['items'] as { id: string }[];
  await api('PATCH', `/tests/${item?.id}`, { enabled: false });
  expect((await deployWith({ dry_run: true })).status).toBe(200);
  await api('PATCH', `/tests/${item?.id}`, { enabled: true });
  await api('PATCH', '/server/config', { deploy_gates: { tests: 'warn' } });
  expect((await deployWith({ dry_run: true })).body).toMatchObject({ warnings: [SENTENCE] });
  await api('PATCH', '/server/config', { deploy_gates: { tests: 'off' } });
  expect((await deployWith()).body).toMatchObject({ snapshot_version: 2, warnings: [] });
});

test('a restored version passes the tests of today', async () => {
  await change({ sql_query: WRONG });
  await deployWith({ allow: ['tests'] });
  await change({ sql_query: GOOD });
  await deployWith();
  const blocked = await api('POST', '/snapshots/2/activate', {});
  expect([blocked.status, blocked.body.errors]).toEqual([422, [{ field: 'tool.product', message: SENTENCE, gate: 'tests' }]]);
});

test('a token cannot deploy past a test that only a person can run', async () => {
  await api('POST', '/tests', {
    owner: { kind: 'tool', id: tool },
    name: 'as ada',
    arguments: { id: 1 },
    caller: { sub: 'ada' },
  });
  await change({ description: 'Another' });
  const token = (await api('POST', '/agent-tokens', { name: 'ci', duration_minutes: 60, scopes: ['read', 'write', 'deploy'] }))
    .body;
  const refused = await deployWith({}, { authorization: `Bearer ${String(token['token'])}` });
  expect([refused.status, refused.body.detail]).toEqual([422, expect.stringContaining('only a signed-in person can start')]);
  expect((await deployWith()).status).toBe(200);
});

test('a stop and an earlier version wait for no test, and a deploy that they overtook serves nothing', async () => {
  // Seconds of work, which the gate waits for.
  const slow = `${GOOD} and (with recursive n(x) as (select 1 union all select x + 1 from n where x < 1500000) select max(x) from n) > 0`;
  const token = (await api('POST', '/agent-tokens', { name: 'ci', duration_minutes: 60, scopes: ['deploy'] })).body;
  const bearer = { authorization: `Bearer ${String(token['token'])}` };
  await change({ sql_query: slow });
  const over: string[] = [];
  const named = async (name: string, answer: ReturnType<typeof deployWith>) => {
    const { status, body } = await answer;
    over.push(name);
    return [status, body['detail']];
  };
  const deploys = Array.from({ length: 5 }, (_, n) => named(`deploy ${n}`, deployWith({}, bearer)));
  expect((await named('stop', api('POST', '/deploy/stop', {})))[0]).toBe(200);
  expect(over.at(-1)).toBe('stop');
  const answers = await Promise.all(deploys);
  // One runs and one waits; neither starts again what a person stopped.
  expect(answers.filter(([status]) => status === 429)).toHaveLength(3);
  expect(answers.filter(([, detail]) => String(detail).includes('was stopped in the meantime'))).toHaveLength(2);
  expect((await api('GET', '/deploy/status')).body).toMatchObject({ status: 'stopped', snapshot_version: 1 });

  await change({ sql_query: GOOD, description: 'Second' });
  await deployWith();
  await change({ sql_query: slow });
  const late = named('late', deployWith({}, bearer));
  expect((await named('restored', api('POST', '/snapshots/1/activate', {})))[0]).toBe(200);
  expect(over.at(-1)).toBe('restored');
  expect(await late).toEqual([409, expect.stringContaining('Version 1 was put in service')]);
  expect((await api('GET', '/deploy/status')).body).toMatchObject({ status: 'running', snapshot_version: 1 });
});
