import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Database } from 'bun:sqlite';
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Parameter } from '#core/contract/definitions/parameters.ts';
import { AppError, asFault } from '#core/errors.ts';
import { openSource } from '#core/engines/index.ts';
import type { Json } from '#core/lib/sql/result.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { generate } from '#snapshots/generate/generate.ts';
import { OTHER_VERSIONS } from '#snapshots/generate/texts.ts';
import type { Snapshot } from '#snapshots/format/format.ts';
import { localPolicy, reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { ENVELOPE } from '#test/mcp-host/support.ts';
import { connectionOf, HOSTILE, SEALED, snapshotOf, toolOf } from './generate-snapshot.ts';
import { bind } from '#test/support/sql.ts';

const root = join(import.meta.dir, '../..');

const SHOP = `
  create table item (id bigint primary key, name varchar(40) not null, price decimal(10,2), made timestamp, note text);
  insert into item values (1, 'pen', 1.50, '2020-01-02 03:04:05', 'it''s "blue"'), (2, 'cup', 12.00, null, null),
    (9007199254740993, 'ünïcode 😀', 0.10, '2021-12-31 23:59:59', '\`\${x}\`')`;

/** Settings of a connection that change what its statements give, and a statement that shows them. */
const EXTRAS = {
  postgresql: { application_name: 'reports', search_path: 'public, sales', options: '-c work_mem=7MB' },
  mysql: { charset: 'utf8mb4_bin', time_zone: '+02:00' },
};
const SET = {
  postgresql: `select current_setting('application_name') as a, current_setting('search_path') as p, current_setting('work_mem') as m`,
  mysql: `select 'a' = 'A' as same, @@time_zone as zone`,
};

async function writeProject(snapshot: Snapshot, folder: string): Promise<void> {
  for (const { path, content } of generate(snapshot)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
}

describe('a generated project', () => {
  const hostile = snapshotOf(
    [
      connectionOf('sqlite', 'a', { name: HOSTILE, database: HOSTILE }),
      connectionOf('postgresql', 'b', {
        name: HOSTILE,
        username: HOSTILE,
        password: SEALED,
        host: HOSTILE,
        extra_params: { search_path: 'sales', token: SEALED },
      }),
    ],
    [
      toolOf({ name: 'index', connection_id: 'a', sql: `select '${HOSTILE.replaceAll("'", "''")}' as a`, description: HOSTILE }),
      toolOf({
        name: 'INDEX',
        connection_id: 'b',
        sql: 'select 1 as a',
        description: HOSTILE,
        transform_template: HOSTILE.replace('{%', ''),
      }),
      toolOf({
        name: '__proto__',
        connection_id: 'a',
        sql: 'select :__proto__ as a',
        parameters: [{ name: '__proto__', type: 'string', description: HOSTILE, required: true }],
        rate_limit_per_minute: 5,
      }),
      toolOf({
        name: 'anything',
        connection_id: 'b',
        sql: ':statement',
        parameters: [{ name: 'statement', type: 'string', description: '', required: true }],
      }),
    ],
    HOSTILE,
  );

  test('is the same for the same snapshot, byte for byte', () => {
    expect(generate(structuredClone(hostile))).toEqual(generate(hostile));
  });

  test('holds no ciphertext, and asks for each secret by a name', () => {
    const files = generate(hostile);
    expect(files.filter(({ content }) => content.includes(SEALED.$sealed)).map(({ path }) => path)).toEqual([]);
    const example = files.find(({ path }) => path === '.env.example')?.content ?? '';
    expect(example.split('\n').filter((line) => !/^(#.*|[A-Z][A-Z0-9_]*=\d*|)$/.test(line))).toEqual([]);
    expect(example).toMatch(/^[A-Z][A-Z0-9_]*_PASSWORD=$/m);
  });

  test('imports nothing that a person’s text names', () => {
    const transpiler = new Bun.Transpiler({ loader: 'ts' });
    const files = generate(hostile).filter(({ path }) => path.endsWith('.ts'));
    expect(new Set(files.map(({ path }) => path.toLowerCase())).size).toBe(files.length);
    for (const { path, content } of files.filter((file) => !file.path.startsWith('src/engine/'))) {
      const { imports } = transpiler.scan(content);
      expect({
        path,
        odd: imports.filter((item) => !/^(\.\.?\/[\w./-]+\.ts|node:[\w/]+|[@\w][\w./-]*)$/.test(item.path)),
      }).toEqual({
        path,
        odd: [],
      });
    }
  });

  test('imports packages that it declares, and none of the contract', () => {
    const files = generate(hostile);
    const declared = Object.keys(JSON.parse(files.find(({ path }) => path === 'package.json')?.content ?? '{}').dependencies);
    const transpiler = new Bun.Transpiler({ loader: 'ts' });
    const sources = files.filter(({ path }) => path.endsWith('.ts'));
    const packages = sources.flatMap(({ content }) => transpiler.scan(content).imports.map(({ path }) => path));
    const undeclared = packages.filter(
      (path) => !/^(\.|node:|bun:)/.test(path) && !declared.some((name) => `${path}/`.startsWith(`${name}/`)),
    );
    expect(undeclared).toEqual([]);
    expect(files.filter(({ path }) => path.includes('contract')).map(({ path }) => path)).toEqual([]);
  });

  test('is made of sources that an executable has too', async () => {
    const builder = await readFile(join(root, 'server/build-binary.ts'), 'utf8');
    const copied = [.../const COPIED = \[([^\]]+)\]/.exec(builder)![1]!.matchAll(/'([^']+)'/g)].map(([, path]) => path!);
    const folder = join(root, 'snapshots/generate/project');
    const sources = new Bun.Glob('**/*.ts').scanSync(folder);
    for (const source of sources) {
      const text = await readFile(join(folder, source), 'utf8');
      for (const [, path] of text.matchAll(/from '#([^']+)'/g)) {
        expect(copied.filter((each) => path === each || path!.startsWith(`${each}/`))).not.toEqual([]);
      }
    }
  });

  test('leaves out a tool whose statement is its argument, and says so', () => {
    const files = generate(hostile);
    expect(files.some(({ path }) => path === 'src/tools/anything.ts')).toBe(false);
    expect(files.find(({ path }) => path === 'README.md')?.content).toContain('- `anything`: its whole statement is an argument');
  });

  test('says how each of its databases is read, and what does not come along', () => {
    const text = generate(hostile).find(({ path }) => path === 'README.md')?.content ?? '';
    expect(text).toContain('- PostgreSQL runs what only reads in a read-only transaction');
    expect(text).toContain('- A SQLite file is read with `query_only` on.');
    expect(text).toContain('These tools have a rate limit in Sluice: `__proto__`.');
  });

  test('does not start without a token when its server asked for one and .env.example was copied as it is', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-generated-'));
    const connection = connectionOf('sqlite', 'a', {});
    const { content, ...rest } = snapshotOf(
      [connection],
      [toolOf({ name: 'one', connection_id: 'a', sql: 'select 1 as a' })],
      'Shop',
    );
    await writeProject({ ...rest, content: { ...content, server: { ...content.server, auth_type: 'bearer' } } }, folder);
    await copyFile(join(folder, '.env.example'), join(folder, '.env'));
    const env = { PATH: process.env['PATH'], PORT: '0' };
    const program = Bun.spawn([process.execPath, 'src/main.ts'], { cwd: folder, env, stderr: 'pipe', timeout: 20_000 });
    expect(await new Response(program.stderr).text()).toContain('Set MCP_TOKEN in the environment');
    expect(await program.exited).toBe(1);
    await rm(folder, { recursive: true, force: true });
  });

  test('has the versions that are installed here', async () => {
    const { dependencies, devDependencies } = JSON.parse(
      generate(hostile).find(({ path }) => path === 'package.json')?.content ?? '',
    );
    for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
      if (name === 'tsx') continue;
      const installed = JSON.parse(await readFile(join(root, 'node_modules', name, 'package.json'), 'utf8'));
      expect({ name, version }).toEqual({ name, version: installed.version });
    }
    expect(dependencies.tsx).toBe(OTHER_VERSIONS.tsx);
  });
});

describe.skipIf(!reachable.postgres || !reachable.mysql)('a generated project with SQLite, PostgreSQL and MariaDB', () => {
  let folder: string;
  let sqlite_path: string;
  let snapshot: Snapshot;
  let client: Client;
  let url: string;
  let program: Bun.Subprocess<'ignore', 'pipe', 'pipe'>;
  const databases: Record<string, TestDatabase> = {};
  const sources: Record<string, Source> = {};

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-generated-'));
    sqlite_path = join(folder, 'shop.db');
    const file = new Database(sqlite_path, { create: true });
    for (const statement of SHOP.split(';')) file.run(statement);
    file.close();
    const connections = [connectionOf('sqlite', 'lite', { database: 'shop.db' })];
    for (const [id, kind] of [
      ['pg', 'postgresql'],
      ['maria', 'mysql'],
    ] as const) {
      const database = await testDatabase(kind);
      databases[id] = database;
      for (const statement of SHOP.split(';')) await database.run(statement);
      const { host, port, username, database: name } = database.settings;
      const extra_params = EXTRAS[kind];
      const password = id === 'pg' ? SEALED : null;
      connections.push(
        connectionOf(kind, id, { name: `shop ${id}`, host, port, username, database: name, password, extra_params }),
      );
      sources[id] = await openSource({ ...database.settings, extra_params }, localPolicy);
    }
    sources['lite'] = await openSource(
      { ...databases['pg']!.settings, db_type: 'sqlite', database: 'shop.db' },
      { ...localPolicy, sqlite_dir: folder },
    );
    const tools = ['lite', 'pg', 'maria'].flatMap((id) => [
      toolOf({ name: `all_${id}`, connection_id: id, sql: 'select * from item order by id' }),
      toolOf({
        name: `find_${id}`,
        connection_id: id,
        sql: 'select id, name, price as a, made as a from item where name in (:names) [[ and id >= :least ]] order by id',
        parameters: [
          { name: 'names', type: 'array', items: 'string', description: '', required: true },
          parameter('least', 'integer', false),
        ],
      }),
      ...(id === 'lite'
        ? []
        : [toolOf({ name: `set_${id}`, connection_id: id, sql: SET[id === 'pg' ? 'postgresql' : 'mysql'] })]),
      toolOf({ name: `few_${id}`, connection_id: id, sql: 'select id from item order by id', max_rows: 2 }),
      toolOf({ name: `table_${id}`, connection_id: id, sql: 'select id, note from item order by id', return_type: 'markdown' }),
      toolOf({
        name: `names_${id}`,
        connection_id: id,
        sql: 'select name from item order by id',
        transform_template: '{{ rows | map(attribute="name") | join("+") }}',
      }),
      toolOf({ name: `fault_${id}`, connection_id: id, sql: 'select id, nothing_here from item' }),
      toolOf({ name: `sneak_${id}`, connection_id: id, sql: "delete from item where name = 'pen'" }),
      toolOf({
        name: `rename_${id}`,
        connection_id: id,
        sql: 'update item set note = :note where id = 2',
        mode: 'write',
        parameters: [parameter('note', 'string')],
      }),
    ]);
    snapshot = snapshotOf(connections, tools, 'Shop');
    await writeProject(snapshot, folder);
    const env = { PATH: process.env['PATH'], PORT: '0', SHOP_PG_PASSWORD: 'any', LITE_PATH: sqlite_path };
    program = Bun.spawn([process.execPath, 'src/main.ts'], { cwd: folder, env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
    client = new Client({ name: 'test', version: '1.0.0' });
    url = await addressOf(program);
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  });

  afterAll(async () => {
    await client?.close();
    program?.kill('SIGTERM');
    await program?.exited;
    await Promise.all(Object.values(sources).map((source) => source.close()));
    await Promise.all(Object.values(databases).map((database) => database.drop()));
    await rm(folder, { recursive: true, force: true });
  });

  test('is accepted by the strict compiler', async () => {
    const compiler = Bun.spawn([process.execPath, join(root, 'node_modules/typescript/bin/tsc'), '--noEmit', '-p', folder], {
      stdout: 'pipe',
      stderr: 'pipe',
    });
    expect(await new Response(compiler.stdout).text()).toBe('');
    expect(await compiler.exited).toBe(0);
  });

  test('lists the tools as the snapshot does', async () => {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(snapshot.content.tools.map(({ name }) => name));
    expect(tools[1]?.inputSchema).toEqual(snapshot.content.tools[1]?.listing['inputSchema'] as never);
  });

  const call = (id: string, tool: string, args: Record<string, unknown> = {}) =>
    client.callTool({ name: `${tool}_${id}`, arguments: args });
  const expected = async (id: string, tool: string, values: Record<string, Json>) => {
    const { statement, max_rows, timeout_ms, max_bytes } = snapshot.content.tools.find(({ name }) => name === `${tool}_${id}`)!;
    const { rows, truncated } = await sources[id]!.query(bind(statement, values), {
      mode: 'read',
      max_rows,
      timeout_ms,
      max_bytes,
    });
    return { rows, row_count: rows.length, truncated };
  };

  for (const id of ['lite', 'pg', 'maria']) {
    describe(id, () => {
      test('gives the rows that Sluice gives', async () => {
        expect((await call(id, 'all')).structuredContent).toEqual(await expected(id, 'all', {}));
        for (const values of [
          { names: ['pen', 'ünïcode 😀'] },
          { names: [] },
          { names: ['pen', 'cup'], least: 2 },
          { names: ["'); --"] },
        ]) {
          expect((await call(id, 'find', values)).structuredContent).toEqual(await expected(id, 'find', values));
        }
        if (id !== 'lite') expect((await call(id, 'set')).structuredContent).toEqual(await expected(id, 'set', {}));
        expect((await call(id, 'few')).structuredContent).toEqual({
          rows: [{ id: 1 }, { id: 2 }],
          row_count: 2,
          truncated: true,
        });
      });

      test('shapes and renders as Sluice does', async () => {
        const { content } = await call(id, 'table');
        expect(content).toEqual([{ type: 'text', text: expect.stringContaining('| 9007199254740993 | `${x}` |') }]);
        expect((await call(id, 'names')).content).toEqual([{ type: 'text', text: 'pen+cup+ünïcode 😀' }]);
      });

      test('refuses wrong arguments with a sentence for each', async () => {
        expect(await call(id, 'find', { names: 'pen', odd: 1 })).toMatchObject({
          isError: true,
          content: [{ text: expect.stringContaining('names must be an array.') }],
        });
      });

      test('says of a failing statement what Sluice says', async () => {
        const fault = await expected(id, 'fault', {}).catch(asFault);
        if (!(fault instanceof AppError)) throw new Error('the statement did not fail');
        expect(fault.detail).toContain('nothing_here');
        expect(await call(id, 'fault')).toMatchObject({ isError: true, content: [{ text: fault.detail }] });
      });

      test('lets no reading tool write, and commits what a writing tool changes', async () => {
        expect(await call(id, 'sneak')).toMatchObject({ isError: true });
        expect((await call(id, 'rename', { note: 'new' })).structuredContent).toMatchObject({ affected_rows: 1 });
        const { rows } = await expected(id, 'all', {});
        expect(rows.map((row) => [row['name'], row['note']])).toEqual([
          ['pen', 'it\'s "blue"'],
          ['cup', 'new'],
          ['ünïcode 😀', '`${x}`'],
        ]);
      });
    });
  }

  test('serves resources and prompts', async () => {
    const { contents } = await client.readResource({ uri: 'shop://first' });
    const [first] = contents;
    expect(first !== undefined && 'text' in first && JSON.parse(first.text)[0].name).toBe('pen');
    const { messages } = await client.getPrompt({ name: 'greet', arguments: { who: 'Ann' } });
    expect(messages).toEqual([{ role: 'user', content: { type: 'text', text: 'Hello Ann, prices are in EUR.' } }]);
  });

  test('says that there is no such resource as the host does, in the words of each revision', async () => {
    const uri = 'shop://nothing';
    const error = { message: 'Resource not found.', data: { uri } };
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const ask = async (params: object, more: Record<string, string>) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'resources/read', params });
      const text = await (await fetch(url, { method: 'POST', headers: { ...headers, ...more }, body })).text();
      return JSON.parse(text.replace(/^(?:event: message\n)?data: /, '')) as object;
    };
    expect(await ask({ uri }, { 'mcp-protocol-version': '2025-11-25' })).toMatchObject({ error: { ...error, code: -32_002 } });
    const now = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'resources/read', 'mcp-name': uri };
    expect(await ask({ uri, _meta: ENVELOPE }, now)).toMatchObject({ error: { ...error, code: -32_602 } });
  });

  test('keeps to its names: a page on another host gets nothing', async () => {
    const headers = { host: 'evil.example', 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    expect((await fetch(url, { method: 'POST', headers, body })).status).toBe(403);
  });

  test('starts with nothing but a list of the secrets that are missing', async () => {
    const other = Bun.spawn([process.execPath, 'src/main.ts'], {
      cwd: folder,
      env: { PATH: process.env['PATH'], PORT: '0' },
      stderr: 'pipe',
      stdout: 'pipe',
    });
    expect(await other.exited).toBe(1);
    expect(await new Response(other.stderr).text()).toContain('Set SHOP_PG_PASSWORD in the environment');
  });
});

function parameter(name: string, type: 'string' | 'integer', required = true): Parameter {
  return { name, type, description: '', required };
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
