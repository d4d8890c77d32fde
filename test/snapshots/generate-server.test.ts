import { afterAll, beforeAll, expect, test } from 'bun:test';
import { Database } from 'bun:sqlite';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { AppError, asFault } from '#core/errors.ts';
import { generate } from '#snapshots/generate/generate.ts';
import { openClickhouse } from '#snapshots/generate/project/drivers/clickhouse.ts';
import { openLibsql } from '#snapshots/generate/project/drivers/libsql.ts';
import { openSqlite } from '#snapshots/generate/project/drivers/sqlite.ts';
import { onlyToolset } from '#snapshots/format/toolsets.ts';
import { connectionOf, parameterOf, resourceOf, snapshotOf, toolOf } from '#test/mcp-host/support.ts';

const limits = { max_rows: 10, max_bytes: 10_000, timeout_ms: 5_000, signal: new AbortController().signal };
const plain = (text: string) => ({ text, values: [], types: [] });
const ORIGIN = 'https://app.example';

let folder: string;
let program: Bun.Subprocess<'ignore', 'pipe', 'pipe'>;
let url: URL;
/** A libSQL server that hangs up at each commit. */
const hanging_up = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request) {
    const asked = await request.text();
    if (asked.includes('"COMMIT"')) return new Response('', { status: 502 });
    if (!asked.includes('"describe"')) return new Response(HANGING_UP.map((line) => `${JSON.stringify(line)}\n`).join(''));
    const result = { cols: [], is_readonly: false };
    return Response.json({ baton: 'b', base_url: null, results: [{ type: 'ok', response: { result } }] });
  },
});
const HANGING_UP = [
  { baton: 'b', base_url: null },
  { type: 'step_begin', step: 0, cols: [] },
  { type: 'step_end', affected_row_count: 0 },
  { type: 'step_begin', step: 1, cols: [] },
  { type: 'step_end', affected_row_count: 1 },
];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-project-server-'));
  const file = new Database(join(folder, 'shop.db'), { create: true });
  file.run('create table item (id integer primary key)');
  file.run('insert into item values (1), (2), (3)');
  file.close();
  const connection = connectionOf({ name: 'lite', db_type: 'sqlite', database: 'shop.db' });
  const remote = connectionOf({ name: 'remote', db_type: 'libsql', database: 'x', host: '127.0.0.1', ssl_mode: 'disable' });
  const named = (name: string, uri: string, more = {}) =>
    resourceOf(connection, uri, `select '${name}' as name from item`, { name, max_rows: 2, ...more });
  const parameters = [parameterOf('id', 'string')];
  const own = { parameters, statement: resourceOf(connection, 'x:', 'select :id as name', { parameters }).statement };
  const snapshot = snapshotOf(1, {
    connections: [connection, remote],
    tools: [
      toolOf(connection, 'one', 'select 1 as one'),
      toolOf(remote, 'add', 'insert into item values (4)', { mode: 'write' }),
      toolOf(connection, 'faulty', 'insert into item values (5)', { mode: 'write', transform_template: '{{ 1 // 0 }}' }),
      toolOf(connection, 'picture', 'insert into item values (6)', { mode: 'write', return_type: 'image' }),
      toolOf(connection, 'count', 'select count(*) as n from item where id > 4', { return_type: 'value' }),
    ],
    resources: [
      named('any', 'shop://{id}', own),
      named('items', 'shop://items-{id}', { ...own, mime_type: 'text/plain' }),
      named('exact', 'shop://items-all'),
    ],
    server: { cors_origins: [ORIGIN], instructions: 'Ask for one item at a time.' },
  });
  for (const { path, content } of generate(snapshot)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
  await symlink(join(import.meta.dir, '../../node_modules'), join(folder, 'node_modules'));
  const env = {
    PATH: process.env['PATH'],
    PORT: '0',
    REMOTE_URL: hanging_up.url.origin,
    LITE_PATH: join(folder, 'shop.db'),
    ALLOWED_HOSTS: ' Db.Example , other.example',
  };
  program = Bun.spawn([process.execPath, 'src/main.ts'], { cwd: folder, env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
  const reader = program.stdout.getReader();
  const { value } = await reader.read();
  url = new URL(/http:\/\/\S+/.exec(new TextDecoder().decode(value))![0]);
});

afterAll(async () => {
  program.kill('SIGKILL');
  await program.exited;
  await hanging_up.stop(true);
  await rm(folder, { recursive: true, force: true });
});

test('a commit without an answer is no reason to repeat the change', async () => {
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(url));
  expect(await client.callTool({ name: 'add' })).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('Check whether the change was made') }],
  });
  await client.close();
});

test('a change whose result cannot be shown is said to be made', async () => {
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(url));
  for (const [n, name] of ['faulty', 'picture'].entries()) {
    expect(await client.callTool({ name })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/^The change was made, but its result cannot be shown: ./) }],
    });
    expect(await client.callTool({ name: 'count' })).toMatchObject({ structuredContent: { value: n + 1 } });
  }
  await client.close();
});

test('undeclared arguments are refused by tools that write, and named by tools that read', async () => {
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(url));
  const args = { dry_run: true, wait_for_previous: true };
  expect(await client.callTool({ name: 'faulty', arguments: args })).toMatchObject({
    isError: true,
    content: [{ text: 'There is no argument dry_run.' }],
  });
  expect(await client.callTool({ name: 'one', arguments: args })).toMatchObject({
    content: [expect.anything(), { text: 'Ignored arguments that the tool does not have: dry_run.' }],
    structuredContent: { row_count: 1 },
    _meta: { 'sluice/ignored': ['dry_run'] },
  });
  await client.close();
});

test('a client reads the resource that fits its URI best, and receives instructions and notes of cuts', async () => {
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(url));
  expect(client.getInstructions()).toBe('Ask for one item at a time.');
  const exact = await client.readResource({ uri: 'shop://items-all' });
  expect(exact).toMatchObject({
    contents: [{ text: expect.stringContaining('exact') }],
    _meta: { truncated: true, row_count: 2 },
  });
  const item = await client.readResource({ uri: 'shop://items-7' });
  expect(item.contents).toMatchObject([{ mimeType: 'text/plain' }]);
  expect(item._meta?.['truncated']).toBeUndefined();
  expect((await client.readResource({ uri: 'shop://else' })).contents).toMatchObject([{ mimeType: 'application/json' }]);
  await client.close();
});

const list = (headers: Record<string, string>, method = 'POST') =>
  fetch(url, {
    method,
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    ...(method === 'POST' ? { body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }) } : {}),
  });

test('names of ALLOWED_HOSTS count without blanks and in any case, and addresses in any notation', async () => {
  for (const host of ['db.example', 'OTHER.example:8080', '[::1]:9000', '127.0.0.1'])
    expect((await list({ host })).status).toBe(200);
  expect((await list({ host: 'evil.example' })).status).toBe(403);
});

test('a page of an allowed origin can read the answer, and no page of another origin of that host', async () => {
  const asked = await list({ origin: ORIGIN, 'access-control-request-headers': 'authorization, mcp-param-id' }, 'OPTIONS');
  expect(asked.status).toBe(204);
  expect(asked.headers.get('access-control-allow-origin')).toBe(ORIGIN);
  expect(asked.headers.get('access-control-allow-headers')).toContain('Authorization');
  const answer = await list({ origin: ORIGIN });
  expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, ORIGIN]);
  expect((await list({ origin: url.origin })).status).toBe(200);
  for (const origin of ['http://app.example', `${ORIGIN}:8443`, 'http://localhost:1', 'null']) {
    expect((await list({ origin })).status).toBe(403);
  }
});

test('a write to a SQLite file waits while another program writes', async () => {
  const path = join(folder, 'shop.db');
  const holds = `const d = new (require('bun:sqlite').Database)(process.argv[1]); d.run('begin immediate'); console.log('held');
    setTimeout(() => d.run('commit'), 600);`;
  const other = Bun.spawn([process.execPath, '-e', holds, path], { stdout: 'pipe' });
  await other.stdout.getReader().read();
  const database = openSqlite({ path });
  expect(await database.query(plain('insert into item values (9)'), { ...limits, writes: true })).toMatchObject({
    affected_rows: 1,
  });
  await database.close();
  await other.exited;
});

test('a cancelled call writes nothing to a SQLite file', async () => {
  const database = openSqlite({ path: join(folder, 'shop.db') });
  const call = { ...limits, signal: AbortSignal.abort(), writes: true };
  expect(await database.query(plain('delete from item'), call).catch(asFault)).toMatchObject({ code: 'cancelled' });
  expect((await database.query(plain('select count(*) > 0 as a from item'), { ...limits, writes: false })).rows).toEqual([
    { a: 1 },
  ]);
  await database.close();
});

test('a server that does not answer is an error of the connection', async () => {
  const tls = { ssl_mode: 'disable', ssl_ca: null, ssl_cert: null, ssl_key: null } as const;
  const account = { host: '127.0.0.1', port: 1, database: 'shop', username: 'default', password: '' };
  const database = openClickhouse({ db_type: 'clickhouse', ...account, ...tls, pool_size: 1, extra_params: {} });
  const fault = await database.query(plain('select 1'), { ...limits, writes: false }).catch((error: unknown) => error);
  expect(fault).toBeInstanceOf(AppError);
  expect(fault).toMatchObject({ code: 'database_unreachable' });
  await database.close();
});

test('an answer of a server without content is an error of the call', async () => {
  const server = Bun.serve({ port: 0, fetch: () => new Response(null, { status: 204 }) });
  const tls = { ssl_mode: null, ssl_ca: null, ssl_cert: null, ssl_key: null };
  const settings = { db_type: 'libsql' as const, ...tls, pool_size: 1, extra_params: {}, token: '' };
  const database = openLibsql({ ...settings, url: `http://127.0.0.1:${server.port}` });
  const fault = await database.query(plain('select 1'), { ...limits, writes: false }).catch(asFault);
  expect(fault).toMatchObject({ code: 'database_unreachable' });
  await database.close();
  await server.stop(true);
});

test.each([
  [{ host: 'db.example', port: 8080 }, 'https://db.example:8080'],
  [{ host: 'db.example', port: 8080, ssl_mode: 'disable' }, 'http://db.example:8080'],
  [{ host: '::1', port: null, ssl_mode: 'disable' }, 'http://[::1]'],
] as const)('the address of a libSQL server is the one of its connection: %o', (more, address) => {
  const connection = connectionOf({ name: 'remote', db_type: 'libsql', ...more });
  const files = generate(snapshotOf(1, { connections: [connection], tools: [toolOf(connection, 'one', 'select 1 as one')] }));
  expect(files.find(({ path }) => path === 'src/connections.ts')?.content).toContain(`setting('REMOTE_URL', "${address}")`);
});

test.each([null, 'Sell one item.'])('a project of a toolset has the instructions of the toolset: %j', (instructions) => {
  const none = { tags: [], connection_ids: [], tool_ids: [], resource_ids: [], prompt_ids: [] };
  const rule = { include: none, exclude: none, read_only: false, groups: [] };
  const toolset = { id: 'sales', name: 'sales', title: null, description: '', instructions, ...rule };
  const whole = snapshotOf(1, { toolsets: [toolset], server: { instructions: 'Ask the warehouse.' } });
  const main = generate(onlyToolset(whole, 'sales')!).find(({ path }) => path === 'src/main.ts');
  expect(main?.content).toContain(`  instructions: ${JSON.stringify(instructions)},`);
});

test('a tool whose connection goes through an SSH server is left out of a project', () => {
  const hop = {
    host: 'bastion',
    port: 22,
    username: 'tunnel',
    private_key: null,
    passphrase: null,
    password: null,
    host_key: null,
  };
  const behind = connectionOf({ name: 'behind', db_type: 'postgresql', ssh: { ...hop, jump: [] } });
  const beside = connectionOf({ id: 'other', name: 'beside', db_type: 'postgresql' });
  const tools = [toolOf(behind, 'hidden', 'select 1 as one'), toolOf(beside, 'kept', 'select 1 as one')];
  const files = generate(snapshotOf(1, { connections: [behind, beside], tools }));
  expect(files.find(({ path }) => path === 'README.md')?.content).toContain(
    '- `hidden`: its connection goes through an SSH tunnel',
  );
  expect(files.map(({ path }) => path)).toContain('src/tools/kept.ts');
  expect(files.map(({ content }) => content).join('\n')).not.toContain('bastion');
});

test('a tool that runs a text of its caller is left out, and the README says what a token opens', () => {
  const connection = connectionOf({ name: 'db', db_type: 'mysql' });
  const tool = toolOf(connection, 'dynamic', 'execute immediate :text', { parameters: [parameterOf('text', 'string')] });
  const resource = resourceOf(connection, 'db://{text}', 'execute immediate :text', {
    name: 'any_rows',
    parameters: [parameterOf('text', 'string')],
    passthrough: true,
  });
  const tools = [{ ...tool, passthrough: true as const }];
  const files = generate(
    snapshotOf(1, { connections: [connection], tools, resources: [resource], server: { auth_type: 'bearer' } }),
  );
  const readme = files.find(({ path }) => path === 'README.md')?.content;
  expect(files.map(({ path }) => path)).not.toContain('src/tools/dynamic.ts');
  expect(files.map(({ path }) => path)).not.toContain('src/resources/any-rows.ts');
  expect(readme).toContain('- `dynamic`: its whole statement is an argument');
  expect(readme).toContain('- `any_rows`: its whole statement is an argument');
  expect(readme).toContain('toolsets: anyone who has the token can call everything in this project');
});
