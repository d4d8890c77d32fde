import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import type { Drift } from '#core/contract/deploy/drift.ts';
import { checkDriftWhenDue } from '#core/deploy/checks/drift.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { reachable, testDatabase } from '#test/support/databases.ts';
import { connectHost } from '#test/support/host.ts';

/** A database that changes below a deployed server. */
interface Shop {
  readonly draft: object;
  run(sql: string): Promise<unknown>;
  drop(): Promise<void>;
}
type Engine = 'postgresql' | 'mysql' | 'sqlite';

async function server(engine: 'postgresql' | 'mysql'): Promise<Shop> {
  const made = await testDatabase(engine);
  const { host, port, database, username } = made.settings;
  const draft = { db_type: engine, host, port, database, username, ssl_mode: 'disable' };
  return { draft, run: (sql) => made.run(sql), drop: () => made.drop() };
}
function file(t: TestApp): Shop {
  mkdirSync(join(t.directory, 'databases'));
  const db = new Database(join(t.directory, 'databases/shop.sqlite'));
  return {
    draft: { db_type: 'sqlite', database: 'shop.sqlite' },
    run: async (sql) => db.run(sql),
    drop: async () => db.close(),
  };
}

let t: TestApp;
let shop: Shop;
const ids: Record<string, string> = {};
async function createRecord(noun: string, body: object): Promise<string> {
  const { status, body: made } = await t.request('POST', `/api/v1/${noun}`, { body });
  expect([status, made['detail']]).toEqual([201, undefined]);
  return String(made['id']);
}
async function answerOf<T = Drift>(method: string, path: string, body?: object): Promise<T> {
  const answer = await t.request(method, `/api/v1/${path}`, body === undefined ? {} : { body });
  expect([answer.status, answer.body['detail']]).toEqual([200, undefined]);
  return answer.body as T;
}
const check = () => answerOf('POST', 'drift/check', {});
const deployWith = (body: object = {}) => answerOf<{ warnings: string[] }>('POST', 'deploy', body);
const brief = ({ items }: Drift) =>
  Object.fromEntries(items.map(({ name, differences }) => [name, differences])) as Record<string, string[]>;

async function begin(engine: Engine): Promise<void> {
  t = await testApp();
  await t.signIn();
  connectHost(t.app);
  shop = engine === 'sqlite' ? file(t) : await server(engine);
  await shop.run('create table orders (id integer not null primary key, total integer, note varchar(20))');
  const connection_id = await createRecord('connections', { name: 'shop', ...shop.draft });
  const of = { connection_id, description: 'Orders of the shop, one row for each.' };
  ids['star'] = await createRecord('tools', { ...of, name: 'star', sql_query: 'select * from orders order by id' });
  ids['lines'] = await createRecord('tools', {
    ...of,
    name: 'lines',
    sql_query: 'select total, note from orders order by id',
    return_type: 'csv',
  });
  ids['steady'] = await createRecord('tools', { ...of, name: 'steady', sql_query: 'select id from orders order by id' });
  ids['all'] = await createRecord('resources', {
    ...of,
    name: 'all',
    uri_template: 'shop://orders',
    sql_query: 'select * from orders order by id',
  });
  await deployWith();
}
afterEach(async () => {
  await t.close();
  await shop.drop();
});

const engines: readonly Engine[] = [
  'sqlite',
  ...(reachable.postgres ? ['postgresql' as const] : []),
  ...(reachable.mysql ? ['mysql' as const] : []),
];
const RETYPE: Readonly<Record<Engine, readonly string[]>> = {
  postgresql: ['alter table orders alter column total type text'],
  mysql: ['alter table orders modify total text'],
  // It cannot change a column.
  sqlite: ['drop table orders', 'create table orders (id integer not null primary key, total text, note varchar(20))'],
};

describe.each(engines)('on %s', (engine) => {
  beforeEach(() => begin(engine));

  test('a deployed statement whose table changes is marked until it is deployed again', async () => {
    expect(await answerOf('GET', 'drift')).toEqual({
      checked_at: null,
      snapshot_version: null,
      items: [],
      total: 0,
      unchecked: [],
    });
    expect(await check()).toMatchObject({ snapshot_version: 1, items: [], total: 0, unchecked: [] });

    await shop.run('alter table orders add region varchar(5)');
    expect(brief(await check())).toEqual({ star: ['The column region is new.'], all: ['The column region is new.'] });
    const { items } = await answerOf('GET', 'drift');
    expect(items.find(({ name }) => name === 'star')).toEqual({
      kind: 'tool',
      id: ids['star'] ?? '',
      name: 'star',
      connection_id: expect.any(String) as never,
      connection_name: 'shop',
      differences: ['The column region is new.'],
      since: t.app.clock().toISOString(),
    });
    const since = items[0]?.since;
    t.advance(60_000);
    expect((await check()).items[0]?.since).toBe(since ?? '');
    const { warnings } = await answerOf<{ warnings: string[] }>('GET', 'deploy/status');
    expect(warnings.filter((warning) => warning.startsWith('Tables have changed'))).toEqual([
      'Tables have changed since the deploy: star, all. Check these definitions and deploy again.',
    ]);

    expect((await deployWith({ dry_run: true })).warnings).toContain(
      'Tool star: its tables have changed since it was saved. The column region is new.',
    );
    await deployWith();
    expect(brief(await check())).toEqual({});
  });

  test('dropped, renamed and retyped columns are told apart', async () => {
    for (const sql of RETYPE[engine]) await shop.run(sql);
    const retyped = brief(await check());
    expect(Object.keys(retyped).toSorted()).toEqual(['all', 'lines', 'star']);
    expect(retyped['lines']).toEqual([expect.stringMatching(/^The column total is \S+ instead of \S+\.$/) as never]);

    await shop.run('alter table orders rename column note to remark');
    const renamed = brief(await check());
    expect(renamed['star']?.slice(-2)).toEqual(['The column note is gone.', 'The column remark is new.']);
    expect(renamed['lines']?.[0]).toStartWith('The database refuses the statement: ');
    expect(renamed['steady']).toBeUndefined();

    await shop.run('alter table orders drop column remark');
    expect(brief(await check())['star']).toContain('The column note is gone.');
    // The statement cannot be deployed as it is.
    const refused = await t.request('POST', '/api/v1/deploy', { body: {} });
    expect([refused.status, String(refused.body['detail']).includes('Tool lines: ')]).toEqual([422, true]);
  });

  test('what was edited and not deployed is compared as it is served', async () => {
    await t.request('PATCH', `/api/v1/tools/${ids['star']}`, { body: { sql_query: 'select id, total from orders order by id' } });
    await shop.run('alter table orders add region varchar(5)');
    expect(brief(await check())['star']).toEqual(['The column region is new.']);
  });
});

describe('drift', () => {
  beforeEach(() => begin('sqlite'));

  test('a database that is away is no drift, and what was known of it stays', async () => {
    await shop.run('alter table orders add region varchar(5)');
    expect((await check()).total).toBe(2);
    const [{ id = '' } = {}] = (await answerOf<{ items: { id?: string }[] }>('GET', 'connections')).items;
    // The same settings as were deployed, and no file.
    const path = join(t.directory, 'databases/shop.sqlite');
    await shop.drop();
    t.app.sources.drop(id);
    renameSync(path, `${path}.away`);
    const away = await check();
    expect(away.total).toBe(2);
    expect(away.unchecked).toEqual([{ connection_id: id, connection_name: 'shop', reason: expect.any(String) as never }]);
    renameSync(`${path}.away`, path);
    t.app.sources.drop(id);
    expect(await check()).toMatchObject({ total: 2, unchecked: [] });
  });

  test('the check runs after a deploy and when its minutes have passed, on one server at a time', async () => {
    expect(await checkDriftWhenDue(t.app)).toBe(true);
    expect(await checkDriftWhenDue(t.app)).toBe(false);
    t.advance(59 * 60_000);
    expect(await checkDriftWhenDue(t.app)).toBe(false);
    t.advance(60_000);
    expect(
      await Promise.all([checkDriftWhenDue(t.app), checkDriftWhenDue(t.app)]).then((did) => did.filter(Boolean)),
    ).toHaveLength(1);

    await t.request('PATCH', `/api/v1/tools/${ids['steady']}`, { body: { description: 'Numbers of all orders of the shop.' } });
    await deployWith();
    // Deploys that follow each other closely are checked once.
    expect(await checkDriftWhenDue(t.app)).toBe(false);
    t.advance(10_000);
    expect(await checkDriftWhenDue(t.app)).toBe(true);
    expect((await answerOf('GET', 'drift')).snapshot_version).toBe(2);

    const set = (drift_check_minutes: number) => t.request('PATCH', '/api/v1/server/config', { body: { drift_check_minutes } });
    await set(0);
    t.advance(70 * 60_000);
    expect(await checkDriftWhenDue(t.app)).toBe(false);
    await set(5);
    expect(await checkDriftWhenDue(t.app)).toBe(true);
    // The clock was ahead.
    t.advance(-70 * 60_000);
    expect([await checkDriftWhenDue(t.app), await checkDriftWhenDue(t.app)]).toEqual([true, false]);
    await answerOf('POST', 'deploy/stop', {});
    t.advance(70 * 60_000);
    expect(await checkDriftWhenDue(t.app)).toBe(false);
  });

  test('a check after a deploy asks about what is new alone, and about everything once the schema is another', async () => {
    const describe = (description: string) => t.request('PATCH', `/api/v1/tools/${ids['steady']}`, { body: { description } });
    const deployed = async (description: string) => {
      await describe(description);
      await deployWith();
      t.advance(10_000);
      expect(await checkDriftWhenDue(t.app)).toBe(true);
      return new Map(t.app.verified_statements.schemas);
    };
    expect(await checkDriftWhenDue(t.app)).toBe(true);
    const first = new Map(t.app.verified_statements.schemas);
    expect(first.size).toBe(4);
    const second = await deployed('Numbers of all orders of the shop.');
    expect([second.size, [...second].filter(([hash, asked]) => first.get(hash) === asked).length]).toEqual([4, 3]);
    await shop.run('create table others (id integer)');
    const third = await deployed('Numbers of every order of the shop.');
    expect([third.size, [...third].filter(([hash, asked]) => second.get(hash) === asked).length]).toEqual([4, 0]);
    // Whoever asks for a check gets one of everything.
    await shop.run('alter table orders add region varchar(5)');
    expect(brief(await check())).toEqual({ star: ['The column region is new.'], all: ['The column region is new.'] });
    // What did not fit is asked about again, whatever the schema.
    await deployed('Numbers of the orders of the shop.');
    expect(brief(await answerOf('GET', 'drift'))).toEqual({});
  });

  test('a gate that blocks keeps drifted definitions from being deployed, and a version from being restored', async () => {
    await t.request('PATCH', `/api/v1/tools/${ids['star']}`, { body: { sql_query: 'select id from orders order by id' } });
    await deployWith();
    await t.request('PATCH', '/api/v1/server/config', { body: { deploy_gates: { drift: 'block', breaking: 'off' } } });
    await shop.run('alter table orders drop column note');
    await t.request('PATCH', `/api/v1/tools/${ids['lines']}`, { body: { enabled: false } });
    const headers = { accept: 'application/problem+json' };
    const deployed = await t.request('POST', '/api/v1/deploy', { body: {}, headers });
    expect(deployed.body['errors']).toEqual([
      {
        field: 'resource.all',
        message: 'Resource all: its tables have changed since it was saved. The column note is gone.',
        gate: 'drift',
      },
    ]);
    // What is served goes on as it was, and is marked without waiting for a check, by which it is still due.
    const marked = await answerOf('GET', 'drift');
    expect(marked.items).toMatchObject([{ kind: 'resource', name: 'all', differences: ['The column note is gone.'] }]);
    expect((await answerOf<{ warnings: string[] }>('GET', 'deploy/status')).warnings.join(' ')).toContain('all');
    expect(brief(await check())).toHaveProperty('all', ['The column note is gone.']);
    const restored = await t.request('POST', '/api/v1/snapshots/1/activate', { body: {}, headers });
    expect(restored.body['errors']).toEqual([
      {
        field: 'tool.star',
        message: 'Tool star: its tables have changed since it was saved. The column note is gone.',
        gate: 'drift',
      },
    ]);
    expect((await t.request('POST', '/api/v1/snapshots/1/activate', { body: { allow: ['drift'] } })).status).toBe(200);
  });
});
