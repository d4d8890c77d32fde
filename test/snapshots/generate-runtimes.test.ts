import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Database } from 'bun:sqlite';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { CALL_SOURCES, SOURCE_NAMES } from '#core/contract/definitions/parameters.ts';
import { ReturnType } from '#core/contract/definitions/tools.ts';
import type { DbType } from '#core/contract/definitions/connections.ts';
import { engineOf, ENGINES } from '#core/engines/index.ts';
import { generate } from '#snapshots/generate/generate.ts';
import type { FrozenConnection, Snapshot } from '#snapshots/format/format.ts';
import {
  connectionOf,
  controlServer,
  type ControlServer,
  keyring,
  parameterOf,
  snapshotOf,
  type TestHost,
  testHost,
  toolOf,
} from '#test/mcp-host/support.ts';
import { reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { deno } from '#test/support/deno.ts';
import { type SqldServer, startSqld } from '#test/support/sqld-server.ts';
import { until } from '#test/support/until.ts';

const root = join(import.meta.dir, '../..');
const PNG = '89504e470d0a1a0a0000000d49484452';
const rows = (blob: string) =>
  `insert into item values (1, 'pen', 1.5, ${blob}, 'a | b'), (2, 'cup', 12, null, null), (3, 'ünïcode 😀', 0.1, null, '')`;
const TABLE = 'create table item (id integer primary key, name varchar(40), price double precision, photo ';
const SHOP: Readonly<Record<string, readonly string[]>> = {
  lite: [`${TABLE} blob, note varchar(40))`, rows(`x'${PNG}'`)],
  remote: [`${TABLE} blob, note varchar(40))`, rows(`x'${PNG}'`)],
  pg: [`${TABLE} bytea, note varchar(40))`, rows(`'\\x${PNG}'`)],
  maria: [`${TABLE} blob, note varchar(40))`, rows(`x'${PNG}'`)],
  duck: [`${TABLE} blob, note varchar(40))`, rows(`from_hex('${PNG}')`)],
};
const IDS = Object.keys(SHOP);
const BIG_JSON = '{"n": [9007199254740993, 1.5]}';
/** A value that is JSON with an integer beyond 2^53. */
const BIG: Readonly<Record<string, string>> = {
  pg: `select '${BIG_JSON}'::json as doc`,
  maria: `select json_compact('${BIG_JSON}') as doc`,
  duck: `select '${BIG_JSON}'::json as doc`,
};
const RUNTIMES = ['node', 'bun', 'deno'] as const;
const fromVars = parameterOf('currency', 'string', { from: 'vars.currency' });
const fromCall = CALL_SOURCES.map((from) => parameterOf(from.replace('.', '_'), 'string', { from }));

/** Every return type, a statement with parameters of the model and of the project, and what fails, on one connection. */
const toolsOn = (connection: FrozenConnection) => {
  const { name: id } = connection;
  const media = (kind: string) => kind === 'image' || kind === 'audio';
  return [
    ...ReturnType.options.map((return_type) =>
      toolOf(
        connection,
        `${return_type}_${id}`,
        media(return_type) ? 'select photo from item where id = 1' : 'select id, name, price, note from item order by id',
        { return_type },
      ),
    ),
    toolOf(
      connection,
      `find_${id}`,
      'select id, :currency as currency from item where id in (:ids) [[and name = :name]] order by id',
      {
        parameters: [
          parameterOf('ids', 'array', { items: 'integer' }),
          parameterOf('name', 'string', { required: false, enum: ['pen', 'cup'] }),
          fromVars,
        ],
      },
    ),
    toolOf(connection, `template_${id}`, 'select name from item order by id', {
      return_type: 'text',
      transform_template: '{{ rows | length }} {{ vars.currency }}',
    }),
    toolOf(connection, `big_${id}`, BIG[id] ?? 'select 1 as one', {
      transform_template: BIG[id] === undefined ? BIG_JSON : null,
    }),
    // They differ from call to call: that they are there is what is compared.
    toolOf(
      connection,
      `call_${id}`,
      `select ${fromCall.map(({ name }) => `cast(:${name} as char(40)) is not null as ${name}`).join(', ')}`,
      { parameters: fromCall },
    ),
    toolOf(connection, `few_${id}`, 'select id from item order by id', { max_rows: 2 }),
    toolOf(connection, `fault_${id}`, 'select nothing_here from item'),
    toolOf(connection, `sneak_${id}`, 'delete from item'),
  ];
};

const CALLS: readonly (readonly [tool: string, args: object])[] = [
  ...ReturnType.options.map((kind) => [kind, {}] as const),
  ...[
    { ids: [1, 2] },
    { ids: [] },
    { ids: [1, 2], name: 'cup' },
    {},
    { ids: 'x' },
    { ids: [1], name: 'odd' },
    { ids: [1], currency: 'USD' },
  ].map((args) => ['find', args] as const),
  ['template', {}],
  ['call', {}],
  ['big', {}],
  ['few', {}],
  ['fault', {}],
  ['sneak', {}],
];

describe.skipIf(!reachable.postgres || !reachable.mysql)('a generated project answers as the host does', () => {
  let folder: string;
  let sqld: SqldServer;
  let control: ControlServer;
  let host: TestHost;
  let snapshot: Snapshot;
  let env: Record<string, string>;
  const databases: TestDatabase[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-runtimes-'));
    const file = new Database(join(folder, 'lite.db'), { create: true });
    for (const statement of SHOP['lite']!) file.run(statement);
    file.close();
    const instance = await DuckDBInstance.create(join(folder, 'duck.duckdb'));
    const session = await instance.connect();
    for (const statement of SHOP['duck']!) await session.run(statement);
    session.closeSync();
    instance.closeSync();
    sqld = await startSqld();
    for (const statement of SHOP['remote']!) await sqld.run(statement);
    const token = await sqld.token('rw');
    const made = (name: string, db_type: DbType, more: Partial<FrozenConnection>) =>
      connectionOf({ id: name, name, db_type, ...more });
    const connections = [
      made('lite', 'sqlite', { database: 'lite.db' }),
      made('duck', 'duckdb', { database: 'duck.duckdb' }),
      made('remote', 'libsql', {
        host: '127.0.0.1',
        port: sqld.port,
        database: 'shop',
        ssl_mode: 'disable',
        password: { $sealed: keyring.seal(token, 'connection/remote/password') },
      }),
    ];
    for (const [name, kind] of [
      ['pg', 'postgresql'],
      ['maria', 'mysql'],
    ] as const) {
      const database = await testDatabase(kind);
      databases.push(database);
      for (const statement of SHOP[name]!) await database.run(statement);
      const { host: address, port, username, database: own } = database.settings;
      connections.push(made(name, kind, { host: address, port, username, database: own }));
    }
    // ClickHouse, whose server is not everywhere, has a test of its own beside this one.
    const engines = ENGINES.map(({ name }) => name).filter((name) => name !== 'clickhouse');
    expect(connections.map(({ db_type }) => engineOf(db_type).name).toSorted()).toEqual(engines.toSorted());
    snapshot = snapshotOf(1, {
      connections,
      tools: connections.flatMap(toolsOn),
      server: { global_variables: { currency: 'EUR' } },
    });
    control = controlServer();
    host = await testHost(folder, control.url);
    await until(() => control.haves.length > 0);
    expect(await control.deploy(snapshot)).toMatchObject({ error: null });
    const project = join(folder, 'project');
    for (const { path, content } of generate(snapshot)) {
      await mkdir(dirname(join(project, path)), { recursive: true });
      await writeFile(join(project, path), content);
    }
    await symlink(join(root, 'node_modules'), join(project, 'node_modules'));
    env = {
      PATH: process.env['PATH'] ?? '',
      HOME: folder,
      DENO_DIR: join(folder, 'deno'),
      PORT: '0',
      LITE_PATH: join(folder, 'lite.db'),
      DUCK_PATH: join(folder, 'duck.duckdb'),
      REMOTE_URL: `http://127.0.0.1:${sqld.port}`,
      REMOTE_TOKEN: token,
      REMOTE_PASSWORD: token,
    };
    // Node 20 reads no TypeScript: tsx does that for `npm start`, and the compiler here.
    const options = [
      '--noEmit',
      'false',
      '--outDir',
      join(project, 'compiled'),
      '--rootDir',
      join(project, 'src'),
      '--rewriteRelativeImportExtensions',
    ];
    const compiler = Bun.spawn([process.execPath, join(root, 'node_modules/typescript/bin/tsc'), '-p', project, ...options], {
      stdout: 'pipe',
    });
    expect(await new Response(compiler.stdout).text()).toBe('');
  }, 60_000);

  afterAll(async () => {
    await host?.stop();
    await control?.stop();
    await sqld?.stop();
    await Promise.all(databases.map((database) => database.drop()));
    await rm(folder, { recursive: true, force: true });
  });

  test.each([...RUNTIMES])('on %s, with every engine and return type', async (runtime) => {
    const commands = {
      node: ['node', 'compiled/main.js'],
      bun: [process.execPath, 'src/main.ts'],
      deno: [deno(), 'run', '-A', '--no-lock', '--no-remote', 'src/main.ts'],
    };
    const program = Bun.spawn(commands[runtime], {
      cwd: join(folder, 'project'),
      env,
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    });
    try {
      const url = new URL(await addressOf(program));
      const faults = [];
      for (const id of IDS) {
        for (const [tool, args] of CALLS) {
          const params = { name: `${tool}_${id}`, arguments: args };
          const [got, expected] = await Promise.all([url, host.mcp].map((at) => called(at, params)));
          if (!Bun.deepEquals(got, expected)) faults.push({ params, got, expected });
        }
      }
      expect(faults).toEqual([]);
      // Nothing was deleted.
      for (const id of IDS) {
        expect(await called(url, { name: `column_${id}`, arguments: {} })).toMatchObject({
          structuredContent: { values: [1, 2, 3] },
        });
      }
    } finally {
      program.kill('SIGKILL');
      await program.exited;
    }
  });
});

test('values of the project and of the call are filled, and those of callers leave a tool out', () => {
  const connection = connectionOf({ database: 'shop.db' });
  const sources = [...SOURCE_NAMES, 'caller.claims.tenant', ...CALL_SOURCES, 'vars.currency'];
  const tools = sources.map((from, n) =>
    toolOf(connection, `tool_${n}`, 'select :value as value', {
      parameters: [parameterOf('value', from === 'caller.groups' ? 'array' : 'string', { items: 'string', from })],
    }),
  );
  const files = generate(snapshotOf(1, { connections: [connection], tools, server: { global_variables: { currency: 'EUR' } } }));
  const kept = files.flatMap(({ path }) => /^src\/tools\/tool_(\d+)\.ts$/.exec(path)?.[1] ?? []).map((n) => sources[Number(n)]!);
  expect(kept.toSorted()).toEqual(['call.id', 'call.time', 'vars.currency']);
});

/** The result of a call. The project answers with an event, the host with JSON. */
async function called(url: URL, params: object): Promise<unknown> {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  const text = await (await fetch(url, { method: 'POST', headers, body })).text();
  const answer = JSON.parse(text.replace(/^(?:event: message\n)?data: /, '')) as { result?: unknown; error?: unknown };
  return answer.result ?? answer.error;
}

async function addressOf({ stdout, stderr }: Bun.Subprocess<'ignore', 'pipe', 'pipe'>): Promise<string> {
  let said = '';
  for await (const chunk of stdout) {
    said += new TextDecoder().decode(chunk);
    const found = /http:\/\/\S+/.exec(said);
    if (found !== null) return found[0];
  }
  throw new Error(`The project did not start: ${await new Response(stderr).text()}`);
}
