import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { MAX_RESULTS, MOST_TESTS } from '#core/contract/definitions/tests.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { connectHost } from '#test/support/host.ts';

/** Tests as records, and what running them says. */
let t: TestApp;
let file: string;
const ids: Record<string, string> = {};
const PROBLEM = { accept: 'application/problem+json' };
const api = (method: string, path: string, body?: object) =>
  t.request(method, `/api/v1${path}`, { headers: PROBLEM, ...(body && { body }) });
async function made(path: string, body: object): Promise<string> {
  const answer = await api('POST', path, body);
  expect([answer.status, answer.body.detail]).toEqual([201, undefined]);
  return String(answer.body['id']);
}

beforeAll(async () => {
  t = await testApp();
  await t.signIn();
  connectHost(t.app);
  mkdirSync(join(t.directory, 'databases'));
  file = join(t.directory, 'databases/shop.sqlite');
  const db = new Database(file);
  db.run('create table products (id integer primary key, name text not null, price real, owner text)');
  db.run("insert into products values (1, 'tea', 2.5, 'ada'), (2, 'cup', 9, 'bo'), (3, 'pot', 30, 'ada')");
  db.close();
  ids['connection'] = await made('/connections', { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite', read_only: false });
  const { connection: connection_id } = ids;
  ids['find'] = await made('/tools', {
    connection_id,
    name: 'find',
    description: 'Finds products',
    sql_query: 'select id, name, price from products where price >= :least order by id',
    parameters: [{ name: 'least', type: 'number' }],
  });
  ids['total'] = await made('/tools', {
    connection_id,
    name: 'total',
    description: 'Sums prices',
    sql_query: 'select sum(price) as total from products',
    return_type: 'value',
  });
  ids['mine'] = await made('/tools', {
    connection_id,
    name: 'mine',
    description: 'Own products',
    sql_query: 'select name, price from products where owner = :who order by id',
    parameters: [{ name: 'who', type: 'string', from: 'caller.sub' }],
    masks: [{ column: 'price', mask: 'remove', unless_groups: ['boss'] }],
  });
  ids['rename'] = await made('/tools', {
    connection_id,
    name: 'rename',
    description: 'Renames a product',
    sql_query: 'update products set name = :name where id = :id',
    parameters: [
      { name: 'name', type: 'string' },
      { name: 'id', type: 'integer' },
    ],
    read_only: false,
  });
  ids['product'] = await made('/resources', {
    connection_id,
    name: 'product',
    description: 'One product',
    uri_template: 'shop://products/{id}',
    sql_query: 'select name from products where id = :id',
    parameters: [{ name: 'id', type: 'integer' }],
  });
  ids['greet'] = await made('/prompts', {
    name: 'greet',
    description: 'Greets',
    template: 'Hello {{ who }}',
    arguments: [{ name: 'who', required: true }],
  });
});
afterAll(() => t.close());

const KIND: Record<string, string> = { product: 'resource', greet: 'prompt' };
const ownerOf = (name: string) => ({ kind: KIND[name] ?? 'tool', id: ids[name] });
let n = 0;
async function judged(owner: string, args: object, expects: object, more: object = {}): Promise<[string, string[]]> {
  const id = await made('/tests', { owner: ownerOf(owner), name: `test ${++n}`, arguments: args, expect: expects, ...more });
  const { status, body } = await t.send('tests.run', { ids: [id] });
  expect(status).toBe(200);
  await t.call('tests.delete', { id });
  const [result] = body.results;
  return [result?.status ?? '', result?.failures ?? []];
}
const PASSED: [string, string[]] = ['passed', []];

describe('every expectation holds or says what does not', () => {
  const FIND = { least: 5 };
  const ROWS = [
    { id: 2, name: 'cup', price: 9 },
    { id: 3, name: 'pot', price: 30 },
  ];
  test.each<[string, string, object, object, string | null]>([
    ['nothing', 'find', FIND, {}, null],
    ['columns', 'find', FIND, { columns: ['name', 'id'] }, null],
    ['columns', 'find', FIND, { columns: ['nam'] }, 'The column nam is missing.'],
    ['absent columns', 'find', FIND, { absent_columns: ['owner'] }, null],
    ['absent columns', 'find', FIND, { absent_columns: ['price'] }, 'The column price must not be there.'],
    ['rows', 'find', FIND, { rows: { min: 2, max: 2 } }, null],
    ['rows', 'find', FIND, { rows: { min: 3 } }, 'The result has 2 rows, fewer than 3.'],
    ['rows', 'find', { least: 10 }, { rows: { max: 0 } }, 'The result has 1 row, more than 0.'],
    ['contains', 'find', FIND, { contains: [{ name: 'pot' }, { id: 2, price: 9 }] }, null],
    ['contains', 'find', FIND, { contains: [{ name: 'pot', id: 2 }] }, 'No row has {"name":"pot","id":2}.'],
    ['equals rows', 'find', FIND, { equals: ROWS }, null],
    ['equals structured content', 'find', FIND, { equals: { rows: ROWS, row_count: 2, truncated: false } }, null],
    ['equals', 'find', FIND, { equals: [ROWS[0], { ...ROWS[1], price: 31 }] }, '[1].price is not 31.'],
    ['equals', 'find', FIND, { equals: [] }, 'The result has 2 items instead of 0.'],
    ['equals a value', 'total', {}, { equals: 41.5 }, null],
    ['equals a value', 'total', {}, { equals: 42 }, 'The result is not 42.'],
    ['max_ms', 'find', FIND, { max_ms: 60_000 }, null],
    ['max_bytes', 'find', FIND, { max_bytes: 10 }, 'bytes, more than 10.'],
    ['max_tokens', 'find', FIND, { max_tokens: 3 }, 'tokens, more than 3.'],
    ['error', 'find', {}, { error: true }, null],
    ['error', 'find', {}, { error: 'least' }, null],
    ['error', 'find', {}, { error: 'timeout' }, 'The error does not contain "timeout".'],
    ['error', 'find', FIND, { error: true }, 'The call succeeded, but it must fail.'],
    ['no error', 'find', {}, {}, 'The call failed: '],
    ['an argument that is not declared', 'find', { ...FIND, most: 1 }, {}, 'This tool has no argument most.'],
    ['a resource', 'product', { id: 2 }, { contains: [{ name: 'cup' }], equals: [{ name: 'cup' }] }, null],
    ['a resource whose variable is a text', 'product', { id: '2' }, { contains: [{ name: 'cup' }] }, null],
    ['a resource', 'product', { id: 9 }, { rows: { min: 1 } }, 'The result has 0 rows, fewer than 1.'],
    ['a prompt', 'greet', { who: 'Ada' }, { equals: 'Hello Ada' }, null],
    ['a prompt', 'greet', { who: 'Ada' }, { equals: [{ role: 'user', text: 'Hello Bo' }] }, '[0].text is not "Hello Bo".'],
    ['a prompt', 'greet', {}, { error: 'who is required' }, null],
  ])('%s of %s (%#)', async (_, owner, args, expects, failure) => {
    const [status, failures] = await judged(owner, args, expects);
    expect([status, failures.join(' ')]).toEqual(
      failure === null ? ['passed', ''] : ['failed', expect.stringContaining(failure)],
    );
  });
});

describe('a run is a call', () => {
  test('of the caller that the test names, with its masks', async () => {
    const caller = { sub: 'ada' };
    expect(await judged('mine', {}, { rows: { min: 2, max: 2 }, absent_columns: ['price'] }, { caller })).toEqual(PASSED);
    const boss = { sub: 'bo', groups: ['boss'] };
    expect(await judged('mine', {}, { equals: [{ name: 'cup', price: 9 }] }, { caller: boss })).toEqual(PASSED);
    expect(await judged('mine', {}, { error: 'caller.sub' })).toEqual(PASSED);
  });

  test('what it writes is rolled back', async () => {
    expect(await judged('rename', { name: 'mug', id: 2 }, {})).toEqual(PASSED);
    expect(await judged('rename', { name: null, id: 2 }, {})).toEqual(['failed', [expect.stringContaining('The call failed')]]);
    const db = new Database(file, { readonly: true });
    expect(db.query('select name from products where id = 2').get()).toEqual({ name: 'cup' });
    db.close();
  });

  test('what cannot be rolled back is skipped and says why', async () => {
    ids['wipe'] = await made('/tools', {
      connection_id: ids['connection'],
      name: 'wipe',
      description: 'Makes a table',
      sql_query: 'create table wiped (id integer)',
      read_only: false,
    });
    expect(await judged('wipe', {}, {})).toEqual(['skipped', [expect.stringContaining('not CREATE')]]);
    await t.call('tools.delete', { id: ids['wipe'] });
  });

  test('of the working copy, the deployed version or an earlier one', async () => {
    const id = await made('/tests', {
      owner: ownerOf('total'),
      name: 'the total',
      expect: { equals: 41.5 },
    });
    const run = async (against: unknown) => {
      const { status, body } = await t.send('tests.run', { ids: [id], against });
      return status === 200 ? body.results[0]?.status : status;
    };
    expect([await run('draft'), await run('live'), await run(7)]).toEqual(['passed', 409, 404]);
    expect((await t.send('deploy.run')).status).toBe(200);
    await t.send('tools.update', { id: ids['total'], name: 'sum', sql_query: 'select 1 + sum(price) as total from products' });
    expect([await run('draft'), await run('live'), await run(1)]).toEqual(['failed', 'passed', 'passed']);
    await t.send('tools.update', { id: ids['total'], enabled: false });
    expect([await run('draft'), await run('live')]).toEqual(['skipped', 'passed']);
    await t.send('tools.update', {
      id: ids['total'],
      enabled: true,
      name: 'total',
      sql_query: 'select sum(price) as total from products',
    });
    const check = await t.call('tests.get', { id });
    expect(check).toMatchObject({ owner_name: 'total', last: { status: 'passed', against: 'live', actor: 'ada' } });
    await t.call('tests.delete', { id });
  });

  test('the latest results are kept', async () => {
    const id = await made('/tests', { owner: ownerOf('total'), name: 'often' });
    for (let run = 0; run < MAX_RESULTS + 3; run++) await t.send('tests.run', { owner: ownerOf('total') });
    expect((await t.call('tests.results', { id })).total).toBe(MAX_RESULTS);
    await t.call('tests.delete', { id });
    expect(await t.app.store.db.$count(t.app.store.tables.test_results)).toBe(0);
  });
});

describe('tests are records', () => {
  test('that are refused when they contradict themselves or name nothing', async () => {
    const refused = async (body: object) => {
      const answer = await t.send('tests.create', { owner: ownerOf('find'), name: 'bad', ...body });
      return [answer.status, (answer.body.errors as { field: string }[])[0]?.field];
    };
    expect(await refused({ owner: { kind: 'tool', id: ids['greet'] } })).toEqual([422, 'owner.id']);
    expect(await refused({ expect: { error: true, rows: { min: 1 } } })).toEqual([422, 'expect.rows']);
    expect(await refused({ owner: ownerOf('greet'), expect: { columns: ['a'] } })).toEqual([422, 'expect.columns']);
    expect(await refused({ expect: { rows: { min: 2, max: 1 } } })).toEqual([422, 'expect.rows']);
    expect(await refused({ expect: { colums: ['a'] } })).toEqual([422, 'expect.colums']);
  });

  test('with unique names, a limit, and lists by owner', async () => {
    const made_ids: string[] = [];
    for (let k = 0; k < MOST_TESTS; k++) made_ids.push(await made('/tests', { owner: ownerOf('find'), name: `number ${k}` }));
    const many = await t.send('tests.create', { owner: ownerOf('find'), name: 'one more' });
    expect([many.status, many.body.detail]).toEqual([409, 'A tool has at most 50 tests. Delete one first.']);
    const other = await made('/tests', { owner: ownerOf('mine'), name: 'of another' });
    const moved = await t.send('tests.update', { id: other, owner: ownerOf('find') });
    expect([moved.status, moved.body.detail]).toEqual([409, 'A tool has at most 50 tests. Delete one first.']);
    await t.call('tests.delete', { id: other });
    await t.send('tests.delete', { id: made_ids.pop() });
    const at_once = await Promise.all(
      ['one', 'two', 'three'].map((name) => t.send('tests.create', { owner: ownerOf('find'), name })),
    );
    expect(at_once.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409, 409]);
    made_ids.push(String(at_once.find(({ status }) => status === 201)?.body.id));
    expect((await t.send('tests.create', { owner: ownerOf('mine'), name: 'number 1' })).status).toBe(409);
    expect((await api('GET', `/tests?owner=tool:${ids['find']}&limit=5`)).body).toMatchObject({ total: MOST_TESTS });
    expect((await api('GET', `/tests?owner=tool:${ids['mine']}`)).body).toMatchObject({ total: 0 });
    expect((await api('GET', `/tests?owner=prompt:${ids['find']}`)).body).toMatchObject({ total: 0 });
    for (const id of made_ids) await t.call('tests.delete', { id });
  });

  test('that go with their definition and come back with it', async () => {
    const connection_id = await made('/connections', { name: 'other', db_type: 'sqlite', database: 'shop.sqlite' });
    const tool = await made('/tools', { connection_id, name: 'gone', description: 'Gone', sql_query: 'select 1 as one' });
    const id = await made('/tests', { owner: { kind: 'tool', id: tool }, name: 'of gone' });
    const newest = async (type: string) => (await t.send('history.list', { entity_type: type, limit: 1 })).body.items[0];
    for (const [path, type] of [
      [`/tools/${tool}`, 'tool'],
      [`/connections/${connection_id}`, 'connection'],
    ] as const) {
      expect((await api('DELETE', path)).status).toBe(204);
      expect((await t.send('tests.get', { id })).status).toBe(404);
      const undo = await newest('test');
      expect((await t.send('history.rollback', { history_id: undo?.id })).status).toBe(409);
      const entry = await newest(type);
      expect((await t.send('history.rollback', { history_id: entry?.id })).status).toBe(200);
      expect(await t.call('tests.get', { id })).toMatchObject({ name: 'of gone', owner_name: 'gone' });
    }
    await t.call('tests.update', { id, name: 'renamed' });
    expect((await t.send('history.rollback', { history_id: (await newest('test'))?.id })).status).toBe(200);
    expect(await t.call('tests.get', { id })).toMatchObject({ name: 'of gone' });
    await t.call('connections.delete', { id: connection_id });
  });

  test('that are exported and imported by name', async () => {
    const id = await made('/tests', {
      owner: ownerOf('find'),
      name: 'carried',
      arguments: { least: 5 },
      expect: { rows: { min: 1 } },
    });
    const file = await t.call('transfer.export', {});
    expect(file.tests).toEqual([
      {
        name: 'carried',
        owner: { kind: 'tool', name: 'find' },
        arguments: { least: 5 },
        caller: null,
        enabled: true,
        expect: { rows: { min: 1 } },
      },
    ]);
    await t.send('tools.delete', { id: ids['find'] });
    const answer = await t.send('transfer.import', file);
    expect(answer.body).toMatchObject({ created: { tools: 1, tests: 1 }, errors: [] });
    const page = await t.call('tests.list', { search: 'carried' });
    const [item] = page.items as { id: string; owner: { id: string }; owner_name: string }[];
    expect(item).toMatchObject({ owner_name: 'find' });
    expect(item?.id).not.toBe(id);
    ids['find'] = item?.owner.id ?? '';
    const lost = await t.send('transfer.import', {
      format: 'sluice/1',
      tests: [{ name: 'lost', owner: { kind: 'tool', name: 'no' } }],
    });
    expect([lost.status, (lost.body.errors as { field: string }[])[0]?.field]).toEqual([422, 'tests.0.owner.name']);
    expect(await t.call('transfer.import', { mode: 'overwrite', ...file })).toMatchObject({ skipped: { tests: 1 } });
    await t.send('tests.delete', { id: item?.id });
  });

  test('in which no token pretends to be somebody', async () => {
    const token = async (scopes: string[]) => {
      const { body } = await t.send('agent_tokens.create', { name: 'ci', duration_minutes: 60, scopes });
      const headers = { ...PROBLEM, authorization: `Bearer ${body.token}` };
      return (method: string, path: string, sent?: object) =>
        t.request(method, `/api/v1${path}`, { anonymous: true, headers, ...(sent && { body: sent }) });
    };
    const writer = await token(['read', 'write']);
    const draft = { owner: ownerOf('mine'), name: 'as ada' };
    expect((await writer('POST', '/tests', { ...draft, caller: { sub: 'ada' } })).body).toMatchObject({ code: 'admin_only' });
    const id = await made('/tests', { ...draft, caller: { sub: 'ada' } });
    expect((await writer('PATCH', `/tests/${id}`, { expect: { rows: { min: 1 } } })).status).toBe(403);
    // What guards a caller's rows is switched off by people alone.
    expect((await writer('PATCH', `/tests/${id}`, { enabled: false })).body).toMatchObject({ code: 'admin_only' });
    expect((await writer('DELETE', `/tests/${id}`)).body).toMatchObject({ code: 'admin_only' });
    const import_of = { format: 'sluice/1', deletes: { tests: ['as ada'] } };
    expect((await writer('POST', '/export-import/import?mode=overwrite', import_of)).body).toMatchObject({ code: 'admin_only' });
    await api('PATCH', `/tests/${id}`, { enabled: false });
    expect((await writer('PATCH', `/tests/${id}`, { enabled: true })).status).toBe(200);
    const run = await writer('POST', '/tests/run', { ids: [id] });
    expect(run.body['results']).toMatchObject([{ status: 'skipped', failures: [expect.stringContaining('signed-in person')] }]);
    const reader = await token(['read']);
    expect((await reader('POST', '/tests/run', { owner: ownerOf('total') })).status).toBe(200);
    expect((await reader('POST', '/tests', draft)).status).toBe(403);
    await t.call('tests.delete', { id });
  });

  test('of which a token learns no more than that it failed', async () => {
    const token = async (scopes: string[]) => {
      const { body } = await api('POST', '/agent-tokens', { name: scopes.join(), duration_minutes: 60, scopes });
      const headers = { ...PROBLEM, authorization: `Bearer ${String(body['token'])}` };
      return async (method: string, path: string, sent?: object) =>
        JSON.stringify(
          (await t.request(method, `/api/v1${path}`, { anonymous: true, headers, ...(sent && { body: sent }) })).body,
        );
    };
    const [agent, proposer] = [await token(['read', 'write', 'deploy']), await token(['propose'])];
    const expects = { rows: { max: 1 }, max_bytes: 3 };
    const id = await made('/tests', { owner: ownerOf('mine'), name: 'rows of ada', caller: { sub: 'ada' }, expect: expects });
    const LEAK = /2 rows|bytes, more|"rows":2/;
    const run = await api('POST', '/tests/run', { ids: [id] });
    expect(JSON.stringify(run.body)).toMatch(LEAK);
    expect(JSON.stringify((await api('GET', `/tests/${id}`)).body)).toMatch(LEAK);
    await proposer('PATCH', `/tools/${ids['mine']}`, { description: 'Products of whoever asks' });
    const [proposal] = (await api('GET', '/proposals')).body['items'] as { id: string }[];
    expect(JSON.stringify((await api('GET', `/proposals/${proposal?.id}`)).body)).toMatch(LEAK);
    const seen = [await proposer('GET', `/proposals/${proposal?.id}`)];
    expect((await api('POST', `/proposals/${proposal?.id}/reject`, {})).status).toBe(200);
    await api('PATCH', '/server/config', { deploy_gates: { tests: 'block' } });
    await api('PATCH', `/tools/${ids['mine']}`, { description: 'Products of the one who asks' });
    const refused = await api('POST', '/deploy', {});
    expect([refused.status, JSON.stringify(refused.body)]).toEqual([422, expect.stringMatching(LEAK) as string]);
    for (const path of [
      `/tests/${id}`,
      '/tests',
      `/tests/${id}/results`,
      '/deploy/status',
      `/proposals/${proposal?.id}`,
      '/history',
    ]) {
      seen.push(await agent('GET', path), await proposer('GET', path));
    }
    seen.push(await agent('POST', '/deploy', {}), await agent('POST', '/tests/run', { ids: [id] }));
    for (const answer of seen) expect(answer).not.toMatch(LEAK);
    expect(JSON.parse(seen[1] ?? '')).toMatchObject({
      last: { status: 'failed', rows: null, ms: 0, failures: [expect.any(String)] },
    });
    expect(JSON.parse(await agent('GET', '/deploy/status'))).toMatchObject({ last_error: expect.stringContaining('tool.mine') });
    await api('PATCH', '/server/config', { deploy_gates: { tests: 'warn' } });
    await api('DELETE', `/tests/${id}`);
  });
});

test('one caller has three runs under way at most, and runs of one version share its sessions', async () => {
  const slow = 'with recursive n(x) as (select 1 union all select x + 1 from n where x < 1000000) select max(x) as x from n';
  const tool = await made('/tools', {
    connection_id: ids['connection'],
    name: 'slow',
    description: 'Takes long.',
    sql_query: slow,
  });
  const id = await made('/tests', { owner: { kind: 'tool', id: tool }, name: 'slow' });
  const runs = await Promise.all(Array.from({ length: 6 }, () => api('POST', '/tests/run', { ids: [id] })));
  expect(runs.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 200, 200, 429, 429, 429]);
  expect((await api('POST', '/tests/run', { ids: [id] })).status).toBe(200);
  await api('DELETE', `/tools/${tool}`);
  const { sources } = t.app;
  const settings = { db_type: 'sqlite', database: 'shop.sqlite', extra_params: {} } as Parameters<typeof sources.share>[1];
  const [first, second, other] = [sources.share('a', settings), sources.share('a', settings), sources.share('b', settings)];
  expect([await first.source, (await other.source) === (await first.source)]).toEqual([await second.source, false]);
  for (const one of [first, second, other]) await one.release();
  const again = sources.share('a', settings);
  expect((await again.source) === (await first.source)).toBe(false);
  await again.release();
});
