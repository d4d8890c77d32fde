import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { type TestApp, testApp } from '#test/support/app.ts';
import { breaking } from '#snapshots/diff/breaking.ts';
import { connectHost } from '#test/support/host.ts';

/** What `deploy/diff` marks as breaking, per change of the working copy against what is served. */
let t: TestApp;
const paths: Record<string, string> = {};
const PARAMETERS = [
  { name: 'shelf', type: 'string', enum: ['a', 'b'], max_length: 5 },
  { name: 'least', type: 'integer', minimum: 0, maximum: 9, required: false },
  { name: 'ids', type: 'array', items: 'integer', required: false },
];
const TOOL = {
  name: 'products',
  description: 'Products',
  sql_query: 'select id, name from products where name <> :shelf [[ and id >= :least ]] [[ and id in (:ids) ]]',
  parameters: PARAMETERS,
};
const BEFORE: Record<string, Record<string, unknown>> = {
  tool: TOOL,
  value: { name: 'count', description: 'Count', sql_query: 'select name from products', return_type: 'value' },
  resource: {
    name: 'one',
    description: 'One',
    uri_template: 'shop://p/{id}',
    sql_query: 'select name from products where id = :id',
  },
  prompt: {
    name: 'greet',
    description: 'Greets',
    template: 'Hello {{ who }}',
    arguments: [{ name: 'who', enum: ['Ada', 'Bo'] }],
  },
};
const PLURAL: Record<string, string> = { tool: 'tools', value: 'tools', resource: 'resources', prompt: 'prompts' };

beforeAll(async () => {
  t = await testApp();
  await t.signIn();
  // A deploy without a host waits for the first one to come.
  connectHost(t.app);
  mkdirSync(join(t.directory, 'databases'));
  const db = new Database(join(t.directory, 'databases/shop.sqlite'));
  db.run('create table products (id integer primary key, name text not null, price real)');
  db.close();
  const connection = await t.call('connections.create', { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' });
  const connection_id = connection.id;
  paths['connection'] = `/api/v1/connections/${connection_id}`;
  for (const [kind, definition] of Object.entries(BEFORE)) {
    const body = kind === 'prompt' ? definition : { ...definition, connection_id };
    const created = await t.request('POST', `/api/v1/${PLURAL[kind]}`, { body });
    expect(created.status).toBe(201);
    paths[kind] = `/api/v1/${PLURAL[kind]}/${String(created.body['id'])}`;
  }
  await t.call('config.update', { auth_type: 'bearer', transport: 'sse', host: '0.0.0.0', port: 8080 });
  expect((await t.send('deploy.run')).status).toBe(200);
}, 60_000);
afterAll(() => t.close());

const marks = async () => {
  const answer = await t.call('deploy.diff', {});
  return (answer.changes as { breaking: string[] }[]).flatMap(({ breaking }) => breaking);
};
const with_ = (name: string, over: object) => ({
  parameters: PARAMETERS.map((parameter) => (parameter.name === name ? { ...parameter, ...over } : parameter)),
});
const IDS = '[[ and id in (:ids) ]]';
const where = (condition: string) => ({ sql_query: TOOL.sql_query.replace(IDS, condition) });
const added = (over: object) => ({
  parameters: [...PARAMETERS, { name: 'most', type: 'integer', ...over }],
  ...where(`${IDS} and id <> :most`),
});
const FEWER = (name: string) => [`The argument ${name} of this tool takes fewer values.`];
const select = (columns: string) => ({ sql_query: TOOL.sql_query.replace('id, name', columns) });

test.each<[string, object, string[]]>([
  ['tool', { description: 'Other', tags: ['x'], cache_ttl_seconds: 1 }, []],
  ['tool', with_('shelf', { enum: ['a', 'b', 'c'], max_length: 9 }), []],
  ['tool', with_('shelf', { enum: ['b', 'c'] }), FEWER('shelf')],
  ['tool', with_('shelf', { max_length: 4 }), FEWER('shelf')],
  ['tool', with_('shelf', { min_length: 1 }), FEWER('shelf')],
  ['tool', with_('shelf', { pattern: '[ab]' }), FEWER('shelf')],
  ['tool', with_('least', { minimum: -1, maximum: 10 }), []],
  ['tool', with_('least', { minimum: 1 }), FEWER('least')],
  ['tool', with_('least', { maximum: 8 }), FEWER('least')],
  ['tool', with_('least', { enum: [1, 2] }), FEWER('least')],
  ['tool', with_('least', { required: true }), ['The argument least of this tool is now required.']],
  ['tool', with_('shelf', { examples: ['a'] }), []],
  ['tool', { parameters: PARAMETERS.slice(0, 2), ...where('') }, ['The argument ids of this tool is no longer accepted.']],
  ['tool', added({}), ['The argument most of this tool is now required.']],
  ['tool', added({ required: false }), []],
  ['tool', added({ default: 9 }), []],
  ['tool', with_('least', { type: 'number' }), ['The argument least of this tool has a different type.']],
  ['tool', with_('ids', { items: 'string' }), ['The argument ids of this tool has a different type.']],
  ['tool', { return_type: 'row' }, ['The return type is “One row” instead of “Rows”.']],
  ['tool', { transform_template: '{{ rows | length }}' }, ['The result of this tool has a different structure.']],
  ['tool', select('id, name, price'), []],
  ['tool', select('id'), ['name is no longer in the result of this tool.']],
  ['tool', select('id, name as title'), ['name is no longer in the result of this tool.']],
  ['tool', select('id, price as name'), ['name in the result of this tool has a different type.']],
  ['tool', { annotations: { open_world_hint: true } }, ['This tool can now reach other systems.']],
  ['tool', { annotations: { destructive_hint: true } }, ['This tool can now destroy data.']],
  ['tool', { annotations: { idempotent_hint: false } }, ['Calling this tool again can now have another effect.']],
  ['tool', { read_only: false }, ['This tool can now change data.']],
  ['tool', { name: 'renamed' }, ['The tool products is no longer offered.']],
  ['tool', { enabled: false }, ['The tool products is no longer offered.']],
  ['value', { sql_query: 'select price from products' }, ['value in the result of this tool has a different type.']],
  ['value', { sql_query: 'select name as label from products order by id' }, []],
  ['resource', { uri_template: 'shop://q/{id}' }, ['The address of this resource is shop://q/{id} instead of shop://p/{id}.']],
  ['resource', { mime_type: 'text/csv' }, ['The content of this resource is text/csv instead of application/json.']],
  ['resource', { sql_query: 'select price from products where id = :id' }, []],
  ['prompt', { arguments: [{ name: 'who', enum: ['Ada'] }] }, ['The argument who of this prompt takes fewer values.']],
  ['prompt', { arguments: [{ name: 'who' }] }, []],
])('%s %j', async (kind, body, expected) => {
  const path = paths[kind] ?? '';
  const { body: stored } = await t.request('GET', path);
  const changed = await t.request('PATCH', path, { body });
  expect([changed.status, changed.body.detail]).toEqual([200, undefined]);
  expect(await marks()).toEqual(expected);
  const { version: _version, ...before } = stored;
  expect((await t.request('PATCH', path, { body: before })).status).toBe(200);
  expect(await marks()).toEqual([]);
});

test('a value that a default stood in for is required without it', () => {
  const of = (more: object) => ({ parameters: [{ name: 'most', type: 'integer', required: true, ...more }] });
  expect(breaking('tool', of({ default: 5 }), of({}))).toEqual(['The argument most of this tool is now required.']);
  expect(breaking('tool', of({}), of({ default: 5 }))).toEqual([]);
  expect(breaking('tool', of({ default: 5 }), of({ default: 6 }))).toEqual([]);
});

test.each<[object, string[]]>([
  [{ auth_type: 'none' }, []],
  [{ log_level: 'DEBUG', server_name: 'Other', token_ttl_seconds: 60 }, []],
  [{ port: 8081 }, ['Clients must connect to another port: the port is 8081 instead of 8080.']],
  [{ host: '127.0.0.1' }, ['Clients must connect to another address: the listen address is 127.0.0.1 instead of 0.0.0.0.']],
  [{ transport: 'http' }, ['Clients must connect in another way: the transport is Streamable HTTP instead of HTTP and SSE.']],
  [
    { auth_type: 'oauth_credentials', oauth_clients: [{ client_id: 'a', client_secret: 'a-long-client-secret-of-thirty-two' }] },
    ['Clients must authenticate in another way: the authentication is OAuth client credentials instead of Access token.'],
  ],
])('server %j', async (body, expected) => {
  const stored = await t.call('config.get', {});
  const { auth_type, log_level, server_name, token_ttl_seconds, port, host, transport } = stored;
  expect((await t.send('config.update', body)).status).toBe(200);
  expect(await marks()).toEqual(expected);
  const before = { auth_type, log_level, server_name, token_ttl_seconds, port, host, transport, oauth_clients: [] };
  expect((await t.send('config.update', before)).status).toBe(200);
  expect(await marks()).toEqual([]);
});

test('introspection that asks for other tokens is marked, and one that asks for less is not', async () => {
  const [one, other] = ['https://93.184.215.14/introspect', 'https://93.184.215.15/introspect'];
  const settings = { auth_type: 'oauth_introspection', introspection_url: one, introspection_audience: null };
  const change = async (body: object) => expect((await t.send('config.update', body)).status).toBe(200);
  const deploy = async () => expect((await t.send('deploy.run')).status).toBe(200);
  await change(settings);
  await deploy();
  await change({ introspection_audience: 'shop' });
  expect(await marks()).toEqual(['Clients need tokens for another audience: the required audience is shop instead of not set.']);
  await change({ introspection_audience: null, introspection_url: other });
  expect(await marks()).toEqual([
    `Clients need tokens of another authorization server: the introspection URL is ${other} instead of ${one}.`,
  ]);
  await change({ ...settings, introspection_audience: 'shop' });
  await deploy();
  await change({ introspection_audience: null });
  expect(await marks()).toEqual([]);
  await change({ auth_type: 'bearer', introspection_url: null });
  await deploy();
});

test('columns that nobody could ask about are not marked', async () => {
  const file = join(t.directory, 'databases/shop.sqlite');
  renameSync(file, `${file}.gone`);
  t.app.sources.drop((paths['connection'] ?? '').split('/').at(-1) ?? '');
  await t.request('PATCH', paths['value'] ?? '', { body: { sql_query: 'select price from products' } });
  await t.request('PATCH', paths['tool'] ?? '', { body: select('id, price') });
  expect(await marks()).toEqual([]);
});
