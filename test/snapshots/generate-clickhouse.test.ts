import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { CLICKHOUSE_DIALECT } from '#core/engines/clickhouse/dialect.ts';
import { bind as bindOurs } from '#core/lib/sql/bind.ts';
import { parseSql } from '#core/lib/sql/parse.ts';
import { generate } from '#snapshots/generate/generate.ts';
import { openClickhouse } from '#snapshots/generate/project/drivers/clickhouse.ts';
import type { NetworkSettings } from '#snapshots/generate/project/definitions.ts';
import { anyOf, bind, noneOf, sql, value } from '#snapshots/generate/project/sql.ts';
import { ENDLESS, SHOP } from '#test/core/engines/clickhouse/fixture.ts';
import { refusal } from '#test/core/engines/shared/suite.ts';
import { createAuthority } from '#test/support/certificates.ts';
import { ACCOUNTS, type ClickhouseServer, hasClickhouse, startClickhouse } from '#test/support/clickhouse-server.ts';
import { connectionOf, parameterOf, snapshotOf, toolOf } from '#test/mcp-host/support.ts';
import { openTlsFront } from '#test/support/sqld-server.ts';
import { until } from '#test/support/until.ts';

const limits = { writes: false, timeout_ms: 5_000, max_rows: 2, max_bytes: 10_000, signal: new AbortController().signal };
const plain = (text: string) => ({ text, values: [], types: [] });

test('a generated project writes lists and typed parameters as the host does', () => {
  const database = openClickhouse(settings({ port: 1 }));
  const types = { low: 'integer', top: 'integer', some: { array: 'string' } } as const;
  const nodes = sql`SELECT ${value('low')}, ${value('low')}, ${value('top')} FROM t WHERE id ${anyOf('some')} AND x ${noneOf('some')}`;
  const text = 'SELECT :low, :low, :top FROM t WHERE id IN (:some) AND x NOT IN (:some)';
  const ours = parseSql(text, CLICKHOUSE_DIALECT, [
    { name: 'low', type: 'integer' },
    { name: 'top', type: 'integer', required: true },
    { name: 'some', type: 'array', items: 'string' },
  ]);
  for (const values of [
    { low: 1, top: 2, some: ['a'] },
    { low: null, top: 2, some: [] },
    { top: 2, some: null },
  ]) {
    const bound = bind({ dialect: 'clickhouse', sql: nodes, types, given: ['top'] }, values, database);
    const { dialect: _, ...expected } = bindOurs(ours, CLICKHOUSE_DIALECT, values);
    expect(bound).toEqual({ ...expected, values: [...expected.values], types: [...expected.types] });
  }
});

function settings(more: Partial<NetworkSettings>): NetworkSettings {
  const tls = { ssl_mode: 'disable', ssl_ca: null, ssl_cert: null, ssl_key: null } as const;
  return {
    db_type: 'clickhouse',
    host: '127.0.0.1',
    port: 0,
    database: 'shop',
    username: 'default',
    password: '',
    ...tls,
    pool_size: 2,
    extra_params: {},
    ...more,
  };
}

describe.skipIf(!hasClickhouse)('a generated project on a ClickHouse server', () => {
  let server: ClickhouseServer;

  beforeAll(async () => {
    server = await startClickhouse();
    for (const statement of SHOP) await server.run(statement);
  });
  afterAll(() => server.stop());

  test('reads with the same limits, values and refusals', async () => {
    const database = openClickhouse(settings({ port: server.port, username: 'ada', password: ACCOUNTS.ada }));
    const found = await database.query(plain('SELECT id, big, price FROM item ORDER BY id'), limits);
    expect(found).toMatchObject({ rows: [{ id: 1, big: '9007199254740993', price: '1.50' }, { id: 2 }], truncated: true });
    expect((await refusal(database.query(plain('INSERT INTO victim VALUES (2)'), limits))).code).toBe('not_read_only');
    expect((await refusal(database.query(plain('SELECT 1'), { ...limits, writes: true }))).code).toBe('not_read_only');
    expect((await refusal(database.query(plain(ENDLESS), { ...limits, timeout_ms: 300 }))).code).toBe('timeout');
    const running = `SELECT count() FROM system.processes WHERE query LIKE '%system.numbers%' AND query NOT LIKE '%processes%'`;
    await until(async () => (await server.run(running)) === '0');
    await database.close();
    expect(await server.run('SELECT count() FROM shop.victim')).toBe('1');
  });

  test('verifies the certificate of the server', async () => {
    const authority = await createAuthority('Sluice test');
    const front = await openTlsFront(server.port, await authority.issue('DNS:localhost'));
    const ask = (more: Partial<NetworkSettings>) =>
      openClickhouse(settings({ host: 'localhost', port: front.port, ...more })).query(plain('SELECT 1 AS one'), limits);
    expect((await ask({ ssl_mode: 'verify-full', ssl_ca: authority.ca })).rows).toEqual([{ one: 1 }]);
    expect((await ask({ ssl_mode: 'require' })).rows).toEqual([{ one: 1 }]);
    expect((await refusal(ask({ ssl_mode: 'verify-full' }))).code).toBe('database_unreachable');
    front.close();
    await authority.remove();
  });

  test('compiles, needs no package for it, and answers under Node', async () => {
    const connection = connectionOf({
      id: 'house',
      name: 'house',
      db_type: 'clickhouse',
      host: '127.0.0.1',
      port: server.port,
      database: 'shop',
      ssl_mode: 'disable',
    });
    const tools = [
      toolOf(connection, 'items', 'select id, price from item order by id', {}),
      toolOf(connection, 'some', 'select id from item where id in (:ids)', {
        parameters: [parameterOf('ids', 'array', { items: 'integer' })],
      }),
    ];
    const project = await mkdtemp(join(tmpdir(), 'sluice-clickhouse-project-'));
    for (const { path, content } of generate(snapshotOf(1, { connections: [connection], tools }))) {
      await mkdir(dirname(join(project, path)), { recursive: true });
      await Bun.write(join(project, path), content);
    }
    const root = join(import.meta.dir, '../..');
    await symlink(join(root, 'node_modules'), join(project, 'node_modules'));
    expect(await Bun.file(join(project, 'package.json')).text()).not.toContain('clickhouse');
    const emit = [
      '--noEmit',
      'false',
      '--outDir',
      join(project, 'compiled'),
      '--rootDir',
      join(project, 'src'),
      '--rewriteRelativeImportExtensions',
    ];
    const compiler = Bun.spawn([process.execPath, join(root, 'node_modules/typescript/bin/tsc'), '-p', project, ...emit], {
      stdout: 'pipe',
    });
    expect(await new Response(compiler.stdout).text()).toBe('');
    await Bun.write(
      join(project, 'ask.mjs'),
      `import { connections } from './compiled/connections.js';
       const limits = { writes: false, timeout_ms: 5000, max_rows: 10, max_bytes: 10000, signal: new AbortController().signal };
       const ask = (text) => connections.house.query({ text, values: [], types: [] }, limits);
       console.log(JSON.stringify((await ask('select id, price from item order by id limit 1')).rows));
       console.log(await ask('select nope from item').catch(({ code, detail }) => code + ' ' + detail));
       await connections.house.close();`,
    );
    const program = Bun.spawn(['node', 'ask.mjs'], { cwd: project, stdout: 'pipe', stderr: 'pipe' });
    expect(await new Response(program.stdout).text()).toBe(`[{"id":1,"price":"1.50"}]\nsql_error Unknown identifier: nope.\n`);
    await rm(project, { recursive: true, force: true });
  }, 60_000);
});
