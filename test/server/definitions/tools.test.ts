import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { readWorkingCopy } from '#core/versions/working-copy.ts';
import { toContent } from '#snapshots/format/tree.ts';
import { isErrorBody, type TestApp, testApp } from '#test/support/app.ts';

let t: TestApp;
let connection_id: string;
beforeEach(async () => {
  t = await testApp();
  await t.signIn();
  mkdirSync(join(t.directory, 'databases'));
  const db = new Database(join(t.directory, 'databases/shop.sqlite'));
  db.run('create table products (id integer primary key, name text not null, price real)');
  db.run("insert into products values (1, 'Atlas', 4.5), (2, 'Basket', 8.25)");
  db.close();
  const created = await t.call('connections.create', { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' });
  connection_id = created.id;
});
afterEach(() => t.close());

const draft = (over: object = {}) => ({
  connection_id,
  name: 'find_products',
  description: 'Find products',
  sql_query: 'select id, name, price from products where price <= :max_price [[ and id in (:ids) ]]',
  parameters: [
    { name: 'max_price', type: 'number' },
    { name: 'ids', type: 'array', items: 'integer', required: false },
  ],
  ...over,
});
const createTool = (over: object = {}) => t.send('tools.create', draft(over));

test('a tool is created with what was derived from its statement', async () => {
  const { status, body } = await createTool();
  expect(status).toBe(201);
  expect(body).toMatchObject({ connection_name: 'shop', read_only: true, return_type: 'rows', version: 1, warnings: [] });
  const schema = JSON.stringify(body.output_schema);
  for (const column of ['id', 'name', 'price', 'row_count', 'truncated']) expect(schema).toContain(`"${column}"`);
  expect(await t.call('tools.get', { id: body.id })).toEqual(body);
});

test('a changed statement is judged anew; the version rises by one with every change', async () => {
  const { body } = await createTool();
  const changed = await t.call('tools.update', {
    id: body.id,
    version: 1,
    sql_query: 'delete from products where price > :max_price',
    parameters: [{ name: 'max_price', type: 'number' }],
  });
  expect(changed).toMatchObject({ version: 2, read_only: false });
  const again = await t.call('tools.update', { id: body.id, description: 'Other' });
  expect(again).toMatchObject({ version: 3, read_only: false, description: 'Other' });
  expect((await t.send('tools.update', { id: body.id, version: 1, description: 'x' })).status).toBe(409);
});

test('what was read can be sent back', async () => {
  const { body } = await createTool();
  const changed = await t.request('PATCH', `/api/v1/tools/${body.id}`, { body: { ...body, description: 'New' } });
  expect([changed.status, changed.body['version'], changed.body['description']]).toEqual([200, 2, 'New']);
});

test('a limit of calls a minute is kept, copied, exported and frozen; null takes it away', async () => {
  for (const rate_limit_per_minute of [0, 100_001, 1.5, '5'])
    expect((await createTool({ rate_limit_per_minute })).status).toBe(422);
  const { body } = await createTool({ rate_limit_per_minute: 100_000 });
  expect(body.rate_limit_per_minute).toBe(100_000);
  expect((await t.call('tools.duplicate', { id: body.id })).rate_limit_per_minute).toBe(100_000);
  const exported = (await t.call('transfer.export', {})).tools;
  expect(exported).toMatchObject([{ rate_limit_per_minute: 100_000 }, { rate_limit_per_minute: 100_000 }]);
  const frozen = async () => {
    const { view } = await readWorkingCopy(t.app);
    return toContent(view.frozen().tree.leaves, view.textOf).tools.find(({ id }) => id === body.id);
  };
  expect(await frozen()).toMatchObject({ rate_limit_per_minute: 100_000 });
  expect((await t.call('tools.update', { id: body.id, rate_limit_per_minute: null })).rate_limit_per_minute).toBeNull();
  expect(await frozen()).not.toHaveProperty('rate_limit_per_minute');
  expect((await createTool({ name: 'unlimited' })).body.rate_limit_per_minute).toBeNull();
});

test('copies are named _copy, _copy_2 and stay names', async () => {
  const { body } = await createTool();
  const copy = () => t.send('tools.duplicate', { id: body.id });
  expect((await copy()).body).toMatchObject({ name: 'find_products_copy', version: 1 });
  expect((await copy()).body).toMatchObject({ name: 'find_products_copy_2' });
  const at_once = await Promise.all([copy(), copy(), copy()]);
  expect(at_once.map((made) => made.body.name).toSorted((a, b) => a.localeCompare(b))).toEqual(
    [3, 4, 5].map((n) => `find_products_copy_${n}`),
  );
  const long = await createTool({ name: 'x'.repeat(64) });
  const copied = await t.call('tools.duplicate', { id: long.body.id });
  expect(copied.name).toHaveLength(64);
});

describe('a tool is refused at the field that is wrong', () => {
  const cases: readonly [string, object, number, string][] = [
    ['a statement that does not prepare', { sql_query: 'select nothing from nowhere', parameters: [] }, 400, 'sql_query'],
    ['an undeclared parameter', { sql_query: 'select :a as a', parameters: [] }, 422, 'sql_query'],
    ['two statements', { sql_query: 'select 1; select 2', parameters: [] }, 422, 'sql_query'],
    ['a raw placeholder', { sql_query: 'select ?', parameters: [] }, 422, 'sql_query'],
    [
      'the whole statement as a parameter',
      { sql_query: ':sql', parameters: [{ name: 'sql', type: 'string' }] },
      422,
      'sql_query',
    ],
    ['another file', { sql_query: "attach database 'x.sqlite' as x", parameters: [] }, 422, 'sql_query'],
    ['a name with a blank', { name: 'find products' }, 422, 'name'],
    ['a name that is too long', { name: 'x'.repeat(65) }, 422, 'name'],
    ['an empty description', { description: '' }, 422, 'description'],
    ['an unknown connection', { connection_id: '0190b0c0-0000-7000-8000-000000000000' }, 422, 'connection_id'],
    [
      'a parameter without a type',
      { parameters: [{ name: 'max_price' }, { name: 'ids', type: 'array', items: 'integer' }] },
      422,
      'parameters.0.type',
    ],
    ['a return type that is not known', { return_type: 'rowz' }, 422, 'return_type'],
    ['a template that does not parse', { transform_template: '{% for %}' }, 422, 'transform_template'],
    [
      'a writing statement that is called read-only',
      { sql_query: 'delete from products', parameters: [], read_only: true },
      422,
      'read_only',
    ],
  ];
  test.each(cases)('%s', async (_, over, status, field) => {
    const answer = await createTool(over);
    expect(answer.status).toBe(status);
    const errors = answer.body.errors as { field: string }[];
    expect(errors.map((error) => error.field)).toContain(field);
    const plain = await t.request('POST', '/api/v1/tools', { body: draft(over) });
    expect(isErrorBody(plain.body)).toBe(true);
    expect((await t.call('tools.list', {})).total).toBe(0);
  });

  test('a name that is taken', async () => {
    await createTool();
    const again = await createTool();
    expect(again.status).toBe(409);
    expect(again.body.errors).toMatchObject([{ field: 'name' }]);
  });

  test('a writing statement on a read-only connection', async () => {
    await t.call('connections.update', { id: connection_id, read_only: true });
    expect((await createTool({ sql_query: 'delete from products', parameters: [] })).status).toBe(422);
  });
});

test('a declared parameter that is not used is a warning', async () => {
  const { status, body } = await createTool({ sql_query: 'select 1 as one', parameters: [{ name: 'extra', type: 'string' }] });
  expect(status).toBe(201);
  expect(String(body.warnings)).toContain('extra');
});

test('a database that is down is a warning, not a refusal', async () => {
  const down = await t.call('connections.create', {
    name: 'down',
    db_type: 'postgresql',
    host: '127.0.0.1',
    port: 1,
    database: 'x',
    username: 'x',
  });
  const { status, body } = await createTool({ connection_id: down.id, sql_query: 'select 1 as one', parameters: [] });
  expect(status).toBe(201);
  expect(String(body.warnings)).toContain('not checked');
});

test('the list is filtered by connection, tags, words and state', async () => {
  await createTool({ name: 'a', tags: ['sales', 'daily'] });
  await createTool({ name: 'b', tags: ['sal'], enabled: false });
  await createTool({ name: 'c', description: 'Something else' });
  const names = async (query: string) => {
    const { body } = await t.request('GET', `/api/v1/tools?${query}`);
    return (body['items'] as { name: string }[]).map(({ name }) => name);
  };
  expect(await names(`connection_id=${connection_id}`)).toEqual(['a', 'b', 'c']);
  expect(await names('tags=sales')).toEqual(['a']);
  expect(await names('tags=sal,daily')).toEqual(['a', 'b']);
  // Commas and blanks belong to some tags.
  for (const [name, tag] of [
    ['e', 'north, south'],
    ['f', ' padded '],
  ] as const) {
    expect((await createTool({ name, tags: [tag] })).status).toBe(201);
    expect(await names(`tags=${encodeURIComponent(tag)}`)).toEqual([name]);
  }
  expect(await names(`tags=daily,${encodeURIComponent(' padded ')}`)).toEqual(['a', 'f']);
  expect(await names('search=something')).toEqual(['c']);
  expect(await names('enabled=false')).toEqual(['b']);
});

describe('preview', () => {
  const run = (over: object = {}) =>
    t.send('preview.execute', {
      connection_id,
      sql_query: 'select id, name from products where price <= :p order by id',
      parameters: { p: 100 },
      ...over,
    });

  test('gives columns, rows and timing', async () => {
    const { status, body } = await run();
    expect(status).toBe(200);
    expect(body).toMatchObject({
      columns: ['id', 'name'],
      rows: [
        { id: 1, name: 'Atlas' },
        { id: 2, name: 'Basket' },
      ],
      row_count: 2,
      truncated: false,
    });
    expect(body.execution_time).toBeGreaterThan(0);
  });

  test('shows the result of a template, or why it failed', async () => {
    const good = await run({ transform_template: '{{ rows | map(attribute="name") | join(", ") }}' });
    expect(good.body.transformed_result).toBe('Atlas, Basket');
    const bad = await run({
      transform_template: '{% for a in range(100000) %}{% for b in range(100000) %}x{% endfor %}{% endfor %}',
    });
    expect(bad.status).toBe(200);
    expect(typeof bad.body.transform_error).toBe('string');
  });

  test('stops at its limit and says so', async () => {
    const { body } = await run({ limit: 1 });
    expect(body).toMatchObject({ row_count: 1, truncated: true });
  });

  test('reads only, and says what the database says', async () => {
    for (const sql_query of [
      'delete from products',
      'drop table products',
      "attach 'x' as y",
      'pragma writable_schema = 1',
      'with a as (select 1) delete from products',
    ]) {
      const answer = await run({ sql_query, parameters: {} });
      expect([sql_query, answer.status]).toEqual([sql_query, 400]);
      expect(isErrorBody(answer.body)).toBe(true);
    }
    const unknown = await run({ sql_query: 'select nothing from products', parameters: {} });
    expect(unknown.status).toBe(400);
    expect(unknown.body.detail).toContain('nothing');
    expect((await run()).body.row_count).toBe(2);
  });
});

describe('schema', () => {
  test('lists tables and columns', async () => {
    const tables = await t.call('schema.tables', { connection_id });
    expect(tables).toMatchObject({ total: 1, items: [{ name: 'products', type: 'table' }] });
    const columns = await t.call('schema.columns', { connection_id, table: 'products' });
    expect(columns).toMatchObject({
      total: 3,
      items: [{ name: 'id', primary_key: true }, { name: 'name', nullable: false }, { name: 'price' }],
    });
  });

  test('an unknown table is 404, and a name is never part of a statement', async () => {
    for (const table of ['nothing', "products'); drop table products; --", 'products"', '..', 'a.b.c']) {
      const answer = await t.send('schema.columns', { connection_id, table });
      expect([table, answer.status]).toEqual([table, 404]);
    }
    expect((await t.call('schema.tables', { connection_id })).total).toBe(1);
  });
});

test('a complaint of the database points at the text that its author wrote, behind optional blocks too', async () => {
  const sql_query = 'select id\nfrom products\nwhere true [[ and price > :max_price ]]\n  and nothing = 1 [[ and id in (:ids) ]]';
  const answer = await createTool({ sql_query });
  expect(answer.status).toBe(400);
  expect(answer.body.position).toBe(sql_query.indexOf('nothing'));
  expect(answer.body.detail).toContain('line 4, column 7');
});

test('a statement that the database refuses can be saved disabled, and is checked again when it is enabled', async () => {
  const sql_query = 'select colour from products where price > :max_price';
  const parameters = [{ name: 'max_price', type: 'number' }];
  const { body: stored } = await createTool();
  const { id } = stored;
  expect((await t.send('tools.update', { id, sql_query, parameters })).status).toBe(400);
  const disabled = await t.call('tools.update', { id, sql_query, parameters, enabled: false } as never);
  expect(disabled).toMatchObject({ enabled: false, sql_query });
  expect(disabled.warnings).toEqual([expect.stringMatching(/^The database refuses the statement: .*colour/)]);
  expect((await t.call('deploy.run', {})).status).toBe('running');
  expect((await t.send('tools.update', { id, enabled: true })).body.detail).toContain('colour');
  const { errors } = await t.call('definitions.update', { kind: 'tool', items: [{ id, enabled: true }] });
  expect(errors).toMatchObject([{ id, error: expect.stringContaining('colour') }]);
  const db = new Database(join(t.directory, 'databases/shop.sqlite'));
  db.run('alter table products add column colour text');
  db.close();
  expect(await t.call('tools.update', { id, enabled: true })).toMatchObject({ enabled: true, warnings: [] });
});
