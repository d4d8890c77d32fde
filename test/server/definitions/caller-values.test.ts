import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestApp, testApp } from '#test/support/app.ts';
import { reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';

let t: TestApp;
let sqlite = '';
let token = '';

beforeAll(async () => {
  t = await testApp({ SVC_ALLOW_PASSTHROUGH_SQL: 'true' });
  await t.signIn();
  mkdirSync(join(t.directory, 'databases'), { recursive: true });
  const db = new Database(join(t.directory, 'databases/shop.db'));
  db.run('create table customers (id integer primary key, name text not null, email text)');
  db.run("insert into customers values (1, 'Ada', 'ada@example.com'), (2, 'Grace', 'grace@example.com')");
  db.close();
  sqlite = await createConnection({ name: 'sqlite', db_type: 'sqlite', database: 'shop.db' });
  const made = await t.call('agent_tokens.create', { name: 'a', duration_minutes: 15, scopes: ['read', 'write', 'deploy'] });
  token = made.token;
}, 60_000);
afterAll(() => t.close());

const PROBLEM = { accept: 'application/problem+json' };
const postAs = (path: string, body: object, bearer?: string) =>
  t.request('POST', `/api/v1${path}`, {
    body,
    headers: { ...PROBLEM, ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}`, cookie: '' }) },
  });
const createConnection = async (body: object) => String((await postAs('/connections', body)).body['id']);
const errors = (body: Record<string, unknown>) => body['errors'] as { field: string; message: string }[];
const own = 'select id, name, email from customers where name = :who';
const who = { name: 'who', type: 'string', from: 'caller.claims.customer' };
const tool = (more: object = {}) => ({
  connection_id: sqlite,
  name: `tool_${crypto.randomUUID().slice(0, 8)}`,
  description: 'The customer who calls',
  sql_query: own,
  parameters: [who],
  ...more,
});

test('a tool with a value of the caller is stored, and its input schema does not name it', async () => {
  const made = await postAs('/tools', tool());
  expect([made.status, made.body['parameters']]).toEqual([201, [{ ...who, description: '', required: true }]]);
  const shown = await postAs('/preview/tool', tool());
  expect(shown.body['listing']).toMatchObject({ inputSchema: { properties: {}, required: [] } });
});

test.each([
  [{ ...who, from: 'caller.password' }, 'parameters.0.from', 'must be one of caller.sub'],
  [{ ...who, from: 'caller.claims.' }, 'parameters.0.from', 'must be one of'],
  [{ ...who, default: 'Ada' }, 'parameters.0.default', 'who is filled with caller.claims.customer, so it cannot have default'],
  [{ ...who, enum: ['Ada'] }, 'parameters.0.enum', 'cannot have enum'],
  [{ ...who, pattern: 'A.*' }, 'parameters.0.pattern', 'cannot have pattern'],
  [{ ...who, from: 'caller.groups' }, 'parameters.0.type', 'its type must be array or json'],
  [{ ...who, type: 'boolean', from: 'caller.sub' }, 'parameters.0.type', 'its type must be string'],
])('a parameter like %p is refused at its field', async (parameter, field, message) => {
  const refused = await postAs('/tools', tool({ parameters: [parameter] }));
  expect([refused.status, errors(refused.body)]).toEqual([422, [{ field, message: expect.stringContaining(message) }]]);
});

test('an optional block that a caller may be left out of is a warning', async () => {
  const made = await postAs('/tools', tool({ sql_query: 'select id from customers where 1 = 1 [[ and name = :who ]]' }));
  expect(made.body['warnings']).toEqual([
    'Callers without caller.claims.customer run the statement without the optional block of who.',
  ]);
});

test('an address of a resource cannot name what the caller fills', async () => {
  const resource = (uri_template: string) => ({
    connection_id: sqlite,
    name: `r_${crypto.randomUUID().slice(0, 8)}`,
    description: 'Own',
    uri_template,
    sql_query: own,
    parameters: [who],
  });
  expect((await postAs('/resources', resource('shop://own'))).status).toBe(201);
  const refused = await postAs('/resources', resource('shop://own/{who}'));
  expect([refused.status, errors(refused.body)[0]?.field]).toEqual([422, 'parameters.0.from']);
});

test('a preview runs as the caller who is named, for signed-in people only', async () => {
  const body = { connection_id: sqlite, sql_query: own, definitions: [who] };
  const caller = { claims: { customer: 'Grace' } };
  expect((await postAs('/preview/execute', { ...body, caller })).body['rows']).toMatchObject([{ name: 'Grace' }]);
  const from = { connection_id: sqlite, sql_query: own, from: { who: 'caller.claims.customer' }, caller };
  expect((await postAs('/preview/execute', from)).body['rows']).toMatchObject([{ name: 'Grace' }]);
  const nobody = await postAs('/preview/execute', body);
  expect([nobody.status, nobody.body.detail]).toEqual([403, expect.stringContaining('needs caller.claims.customer')]);
  const sent = await postAs('/preview/execute', { ...body, caller, parameters: { who: 'Ada' } });
  expect([sent.status, errors(sent.body)[0]?.field]).toEqual([422, 'parameters.who']);
  const pretending = await postAs('/preview/execute', { ...body, caller }, token);
  expect([pretending.status, errors(pretending.body)[0]?.field]).toEqual([403, 'caller']);
  expect((await postAs('/preview/execute', { ...body, sql_query: 'select 1 as one', definitions: [] }, token)).status).toBe(200);
});

test('a preview shows what its caller sees of masked columns, and a token cannot take masks off', async () => {
  const masks = [{ column: 'email', mask: 'email', unless_groups: ['staff'] }];
  const body = {
    connection_id: sqlite,
    sql_query: 'select id, email from customers order by id limit 1',
    masks,
    return_type: 'rows',
  };
  const guest = await postAs('/preview/execute', body);
  expect(guest.body['rows']).toEqual([{ id: 1, email: 'a***@example.com' }]);
  expect(JSON.stringify(guest.body['model'])).not.toContain('ada@');
  const staff = await postAs('/preview/execute', { ...body, caller: { groups: ['staff'] } });
  expect(staff.body['rows']).toEqual([{ id: 1, email: 'ada@example.com' }]);

  const made = await postAs('/tools', tool({ masks, sql_query: 'select id, email from customers', parameters: [] }));
  expect([made.status, made.body['masks']]).toEqual([201, masks]);
  expect(JSON.stringify(made.body['output_schema'])).toContain('Masked: only the first letter and the domain for some callers');
  const patch = await t.send(
    'tools.update',
    { id: String(made.body['id']), masks: [] },
    { headers: { ...PROBLEM, authorization: `Bearer ${token}`, cookie: '', 'if-match': `"${String(made.body['version'])}"` } },
  );
  expect([patch.status, patch.body.code]).toEqual([403, 'admin_only']);
  const unknown = await postAs(
    '/tools',
    tool({ masks: [{ column: 'mail', mask: 'text' }], parameters: [], sql_query: 'select id, email from customers' }),
  );
  expect([unknown.status, errors(unknown.body)]).toEqual([
    422,
    [{ field: 'masks.0.column', message: 'The result has no column mail. Its columns are id, email.' }],
  ]);
  const many = Array.from({ length: 51 }, (_, n) => ({ column: `c${n}`, mask: 'text' }));
  expect((await postAs('/tools', tool({ masks: many }))).status).toBe(422);
  const twice = [
    { column: 'email', mask: 'text' },
    { column: 'EMAIL', mask: 'null' },
  ];
  expect((await postAs('/tools', tool({ masks: twice }))).status).toBe(422);
});

test('a prompt reads the caller who is named', async () => {
  const body = { name: 'hi', description: 'Greets', template: 'Hello {{ caller.name }}' };
  const shown = await postAs('/preview/prompt', { ...body, caller: { name: 'Ada' } });
  expect(shown.body['messages']).toEqual([{ role: 'user', text: 'Hello Ada' }]);
});

test('session values are refused where a database cannot be told, or not like this', async () => {
  const values = [{ name: 'app.tenant', from: 'caller.sub' }];
  const refused = await postAs('/connections', { name: 'x', db_type: 'sqlite', database: 'shop.db', session_values: values });
  expect([refused.status, errors(refused.body)]).toEqual([
    422,
    [{ field: 'session_values', message: expect.stringContaining('SQLite cannot receive values of the caller') }],
  ]);
  const at = (db_type: string, more: object) =>
    postAs('/connections', { name: 'x', db_type, host: '127.0.0.1', database: 'x', ...more });
  const cases: [string, object, string][] = [
    ['postgresql', { session_values: [{ name: 'tenant', from: 'caller.sub' }] }, 'session_values.0.name'],
    ['mariadb', { session_values: values }, 'session_values.0.name'],
    ['mariadb', { session_role: { from: 'caller.groups', allow: ['a'] } }, 'session_role'],
    ['postgresql', { session_role: { from: 'caller.groups', allow: ['none'] } }, 'session_role.allow'],
    ['redshift', { session_values: values }, 'session_values'],
    ['postgresql', { session_values: [{ name: "a.b'", from: 'caller.sub' }] }, 'session_values.0.name'],
    ['postgresql', { session_values: [{ name: 'a.b', from: 'model' }] }, 'session_values.0.from'],
  ];
  for (const [db_type, more, field] of cases) {
    const { status, body } = await at(db_type, more);
    expect([status, errors(body)[0]?.field]).toEqual([422, field]);
  }
});

describe.skipIf(!reachable.postgres && process.env['CI'] !== 'true')('on PostgreSQL', () => {
  const account = `told_${crypto.randomUUID().slice(0, 8)}`;
  let database: TestDatabase;
  let target: object;

  beforeAll(async () => {
    database = await testDatabase('postgresql');
    await database.run(`create role ${account} login; create role ${account}_sales; create role ${account}_none;
      grant ${account}_sales to ${account};
      create table orders (id int, tenant text); insert into orders values (1, 'ada'), (2, 'grace');
      grant select on orders to ${account}, ${account}_sales;
      alter table orders enable row level security;
      create policy own on orders using (tenant = current_setting('app.tenant', true));
      create view seen as select * from orders; create table mine (id int); alter table mine enable row level security;
      alter table mine owner to ${account}`);
    const { host, port, database: name } = database.settings;
    target = { db_type: 'postgresql', host, port, database: name, username: account, ssl_mode: 'disable' };
  });
  afterAll(async () => {
    await database.run(`drop owned by ${account}, ${account}_sales; drop role ${account}_sales, ${account}_none`);
    await database.drop();
    const other = await testDatabase('postgresql');
    await other.run(`drop role ${account}`);
    await other.drop();
  });

  test('a preview tells the database who calls, and as which role it runs', async () => {
    const id = await createConnection({
      ...target,
      name: 'told',
      session_values: [
        { name: 'app.tenant', from: 'caller.sub' },
        { name: 'app.groups', from: 'caller.groups' },
      ],
      session_role: { from: 'caller.groups', allow: [`${account}_sales`] },
    });
    const sql_query =
      "select current_user::text as me, current_setting('app.groups') as groups, (select count(*)::int from orders) as n";
    const caller = { sub: 'ada', groups: ['x', `${account}_sales`] };
    const shown = await postAs('/preview/execute', { connection_id: id, sql_query, caller });
    expect(shown.body['rows']).toEqual([{ me: `${account}_sales`, groups: JSON.stringify(caller.groups), n: 1 }]);
    const none = await postAs('/preview/execute', { connection_id: id, sql_query, caller: { sub: 'ada', groups: ['postgres'] } });
    expect([none.status, none.body.detail]).toEqual([403, expect.stringContaining('has none that is allowed')]);
    for (const text of [
      "select set_config('app.tenant', 'grace', true)",
      "set app.tenant = 'grace'",
      'reset role',
      'set role postgres',
      'discard all',
      "do $$ begin perform set_config('app.tenant', 'grace', true); end $$",
    ]) {
      expect([text, (await postAs('/tools', tool({ connection_id: id, sql_query: text, parameters: [] }))).status]).toEqual([
        text,
        422,
      ]);
      expect((await postAs('/preview/execute', { connection_id: id, sql_query: text, caller })).status).toBe(400);
    }
    const passed = await postAs(
      '/tools',
      tool({ connection_id: id, sql_query: ':who', parameters: [{ name: 'who', type: 'string' }] }),
    );
    expect([passed.status, passed.body.detail]).toEqual([422, expect.stringContaining('tells its database who calls')]);
  });

  test('a token neither sets nor takes away what the database is told', async () => {
    const id = await createConnection({ ...target, name: 'kept', session_values: [{ name: 'app.tenant', from: 'caller.sub' }] });
    const answer = await t.call('connections.get', { id });
    const patch = await t.send(
      'connections.update',
      { id, session_values: [] },
      { headers: { ...PROBLEM, authorization: `Bearer ${token}`, cookie: '', 'if-match': `"${String(answer.version)}"` } },
    );
    expect(patch.status).toBe(403);
    const created = await postAs(
      '/connections',
      { ...target, name: 'b', session_role: { from: 'caller.groups', allow: ['a'] } },
      token,
    );
    expect(created.status).toBe(403);
  });

  test('a token activates no version that tells the database something else of callers', async () => {
    const page = await t.call('connections.list', { search: 'kept' });
    const [{ id, version }] = page.items as [(typeof page.items)[0]];
    await postAs('/tools', tool({ connection_id: id, parameters: [], sql_query: 'select id from orders' }));
    const deploy = async () => {
      const { status, body: deployed } = await postAs('/deploy', {});
      expect([status, deployed]).toEqual([200, expect.anything()]);
    };
    await t.call('connections.update', { id, session_values: [], version });
    await deploy();
    const changed = { session_values: [{ name: 'app.tenant', from: 'caller.sub' }], version: version + 1 };
    await t.call('connections.update', { id, ...changed });
    await deploy();
    const listed = await t.call('snapshots.list', {});
    const versions = (listed.items as { version: number }[]).map((one) => one.version).toSorted((a, b) => a - b);
    const activate = (bearer?: string) => postAs(`/snapshots/${versions.at(-2)}/activate`, {}, bearer);
    const refused = await activate(token);
    expect([refused.status, errors(refused.body)[0]?.field]).toEqual([403, 'session_values']);
    expect((await activate()).status).toBe(200);
  });

  test('a masked column is masked under the name that the statement gives it', async () => {
    const id = await createConnection({ ...target, name: 'plain' });
    const body = {
      connection_id: id,
      sql_query: 'select tenant as t, id from orders',
      masks: [{ column: 'tenant', mask: 'text' }],
    };
    await database.run(`alter table orders disable row level security`);
    expect((await postAs('/preview/execute', body)).body['rows']).toEqual([
      { t: '***', id: 1 },
      { t: '***', id: 2 },
    ]);
    const made = await postAs('/tools', tool({ ...body, parameters: [] }));
    expect(made.status).toBe(201);
    expect(JSON.stringify(made.body['output_schema'])).toContain('Masked: ***');
    await database.run(`alter table orders enable row level security`);
  });

  test('the connection test warns of what policies do not hold for', async () => {
    const session = { session_values: [{ name: 'app.tenant', from: 'caller.sub' }] };
    const { body } = await postAs('/connections/test', {
      name: 'x',
      ...target,
      ...session,
      session_role: { from: 'caller.groups', allow: [`${account}_none`, `${account}_sales`] },
    });
    expect(body['warnings']).toEqual([
      expect.stringContaining('policies do not hold for their owner: public.mine'),
      expect.stringContaining('as the owner of the view: public.seen'),
      `The account cannot take these roles: ${account}_none. Run GRANT … TO the account.`,
    ]);
    const superuser = await postAs('/connections/test', { name: 'x', ...target, username: 'postgres', ...session });
    expect(JSON.stringify(superuser.body['warnings'])).toContain('No policy holds for superusers: postgres');
    const silent = await postAs('/connections/test', { name: 'x', ...target });
    expect(silent.body['warnings']).toEqual([]);
  });
});
