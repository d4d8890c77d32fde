import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CLICKHOUSE_RULES } from '#core/engines/clickhouse/rules.ts';
import { openClickhouse } from '#core/engines/clickhouse/source.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { type Chdb, hasChdb, startChdb } from '#test/support/chdb.ts';
import { type ClickhouseServer, hasClickhouse, startClickhouse } from '#test/support/clickhouse-server.ts';
import { localPolicy } from '#test/support/databases.ts';
import { classify, parseSql } from '#test/support/sql.ts';
import { FIXED, READ, refusal, sql } from '../shared/suite.ts';
import { SETTINGS, SHOP } from './fixture.ts';

/** What a caller may try when the text is its own. */
const ATTACKS: readonly string[] = [
  'INSERT INTO victim VALUES (2)',
  'INSERT INTO victim SELECT 2',
  "INSERT INTO FUNCTION file('evil.csv') SELECT 1",
  'ALTER TABLE victim DELETE WHERE 1',
  'DELETE FROM victim WHERE 1',
  'TRUNCATE TABLE victim',
  'DROP TABLE victim',
  'DROP DATABASE shop',
  'DETACH TABLE victim',
  'RENAME TABLE victim TO evil',
  'CREATE TABLE evil (a Int8) ENGINE = Memory',
  'CREATE TEMPORARY TABLE evil (a Int8)',
  'CREATE TABLE evil ENGINE = Memory AS SELECT 1 AS a',
  'CREATE VIEW evil AS SELECT 1',
  'OPTIMIZE TABLE victim',
  'SYSTEM SHUTDOWN',
  'SYSTEM FLUSH LOGS',
  'SET readonly = 0',
  'SET max_threads = 1',
  'USE other',
  'KILL QUERY WHERE 1 SYNC',
  'KILL MUTATION WHERE 1',
  '-- x\nKILL QUERY WHERE 1',
  '/* SELECT */ KILL QUERY WHERE 1',
  '/* /* */ SELECT 1 */ KILL QUERY WHERE 1',
  '# SELECT 1\nKILL QUERY WHERE 1',
  '// SELECT 1\nKILL QUERY WHERE 1',
  'GRANT ALL ON *.* TO default',
  'SELECT 1; DROP TABLE victim',
  'SELECT 1; SELECT 2',
  '; SELECT 1',
  'SELECT 1 FORMAT CSV',
  'SELECT 1 /* */ FORMAT /* */ Null',
  'SELECT 1 FORMAT "TabSeparated"',
  'SELECT id FROM victim FORMAT JSON',
  "SELECT 1 INTO OUTFILE '/tmp/sluice_evil'",
  "SELECT 1 INTO OUTFILE '/tmp/sluice_evil' FORMAT CSV",
  "SELECT 1 INTO/**/OUTFILE '/tmp/sluice_evil'",
  'SELECT 1 SETTINGS readonly = 0',
  'SELECT id FROM victim SETTINGS max_threads = 2',
  'SELECT * FROM (SELECT 1 SETTINGS readonly = 0)',
  'SELECT 1 SETTINGS readonly=1, readonly=0',
  'SELECT 1 -- a\nSETTINGS -- b\nreadonly = 0',
  'SELECT 1 /*a*/ SETTINGS /*b*/ max_execution_time = 0',
  'SELECT 1) ; DROP TABLE victim; SELECT (1',
  'SELECT 1) FORMAT CSV',
  'SHOW TABLES',
  'SHOW CREATE TABLE victim',
  'SHOW PROCESSLIST',
  'EXISTS TABLE victim',
  'CHECK TABLE victim',
  'DESCRIBE TABLE victim',
  "EXPLAIN SELECT * FROM url('http://127.0.0.1:1/')",
  'WITH x AS (SELECT 1) INSERT INTO victim SELECT 2',
  'SELECT sleep(3)',
  'SELECT (SELECT sleep(3))',
  'SELECT sleepEachRow(1) FROM victim',
  'SELECT * FROM system.processes',
  'SELECT * FROM system.query_log',
  'SELECT * FROM "system"."settings"',
  'SELECT * FROM `system`.users',
  'SELECT * FROM system . named_collections',
  'SELECT 1 FROM other.item, system.processes',
  'SELECT (SELECT count() FROM system.processes)',
  "SELECT file('/etc/passwd')",
  "SELECT `file`('/etc/passwd')",
  "SELECT FILE ( '../../etc/passwd' )",
  // The engine decodes escapes in quoted names.
  String.raw`SELECT "fil\x65"('/etc/passwd')`,
  String.raw`SELECT "\x66\x69\x6c\x65"('/etc/passwd')`,
  "SELECT `fil\\x65`('/etc/passwd')",
  String.raw`SELECT "f\ile"('/etc/passwd')`,
  String.raw`SELECT * FROM "\x73ystem".processes`,
  'SELECT * FROM `\\x73ystem`.processes',
  'SELECT * FROM system."proce\\x73ses"',
  String.raw`SELECT 1 IN "fil\x65"('/etc/passwd')`,
  String.raw`SELECT * FROM "fil\x65"('/etc/passwd', 'LineAsString')`,
  String.raw`SELECT slee\x70(3)`,
  String.raw`SELECT "a\"", file('/etc/passwd'), "b"`,
  "SELECT 1 IN file('/etc/passwd', LineAsString)",
  "SELECT 1 GLOBAL NOT IN (((file('/etc/passwd', LineAsString))))",
  "SELECT * FROM eval('SELECT 1')",
  "SELECT getSetting('readonly')",
  'SELECT {x:Identifier}',
  'SELECT * FROM {x:Identifier}',
  'SELECT ‘1’',
  '',
  ';',
  '-- nothing',
];

/** Where a function of tables can stand: behind each way to name a table, and nested in anything. */
const places = (call: string): string[] => [
  `SELECT * FROM ${call}`,
  `SELECT * FROM (SELECT * FROM ${call})`,
  `SELECT * FROM victim, ${call}`,
  `SELECT * FROM victim AS a JOIN ${call} AS b ON 1 = 1`,
  `SELECT * FROM victim AS a JOIN victim AS c ON a.id = c.id, ${call}`,
  `SELECT * FROM (victim AS a CROSS JOIN ${call})`,
  `SELECT * FROM victim LEFT ARRAY JOIN [1] AS q CROSS JOIN ${call}`,
  `SELECT id FROM victim WHERE id IN (SELECT 1 FROM ${call})`,
  `WITH (SELECT count() FROM ${call}) AS n SELECT n`,
  `WITH x AS (SELECT * FROM ${call}) SELECT * FROM x`,
  `SELECT (SELECT count() FROM ${call})`,
  `SELECT 1 UNION ALL SELECT 1 FROM ${call}`,
  `SELECT extract(DAY FROM toDate('2026-01-01')) FROM /* a */ ${call}`,
];

/** Where the engine itself lets a function of tables through, or would ask another machine. */
const OUTSIDE: readonly string[] = [
  "url('http://127.0.0.1:1/', CSV, 'a String')",
  "\"url\"('http://127.0.0.1:1/', CSV, 'a String')",
  "file('/etc/passwd', LineAsString)",
  "`file`('/etc/passwd', 'TSV', 'a String')",
  "s3('http://127.0.0.1:1/x', 'CSV', 'a String')",
  "remote('127.0.0.1:1', system.one)",
  "remoteSecure('127.0.0.1:1', system, one)",
  "mysql('127.0.0.1:1', 'a', 'b', 'c', 'd')",
  "postgresql('127.0.0.1:1', 'a', 'b', 'c', 'd')",
  "odbc('DSN=x', 'a', 'b')",
  "jdbc('x', 'a', 'b')",
  "executable('id', TSV, 'a String')",
  "cluster('default', system.one)",
  "clusterAllReplicas('default', system, one)",
  "merge('system', '^one$')",
  "merge(REGEXP('.*'), '.*')",
  "hdfs('hdfs://127.0.0.1:1/x', 'CSV', 'a String')",
  "input('a String')",
  "dictionary('x')",
  "viewExplain('EXPLAIN', '', (SELECT 1))",
  "fuzzQuery('SELECT 1')",
  "mergeTreeIndex('shop', 'item')",
  "azureBlobStorage('x', 'y', 'z')",
  "nobodyKnowsThisYet('x')",
];

async function attempts(source: Source, texts: readonly string[]): Promise<void> {
  for (const text of texts) {
    for (const mode of [READ, FIXED]) {
      const error = await refusal(source.query(sql(text), { ...mode, timeout_ms: 2_000 })).catch((cause: unknown) => {
        throw new Error(text, { cause });
      });
      expect([text, error.code, error.detail.length > 20]).toEqual([
        text,
        expect.stringMatching(/^(not_read_only|sql_error)$/) as string,
        true,
      ]);
    }
    expect([text, (await refusal(source.describe(text, []))).code]).toEqual([
      text,
      expect.stringMatching(/^(not_read_only|sql_error)$/) as string,
    ]);
  }
}

const STATE = `SELECT toString(groupArray(id)), (SELECT toString(groupArray(concat(database, '.', name))) FROM (SELECT database, name FROM system.tables
  WHERE database IN ('shop', 'other', 'default') ORDER BY database, name)) FROM shop.victim`;

test('functions that ask another machine or tell of the server are refused, also where a server has them', async () => {
  for (const call of ["hasColumnInTable('127.0.0.1:1', 'a', 'b', 'c')", 'fullHostName()', "getServerPort('tcp_port')"]) {
    expect([call, (await classify(parseSql(`SELECT ${call}`, 'clickhouse', []))).forbidden]).toEqual([
      call,
      expect.any(String) as string,
    ]);
  }
});

describe.skipIf(!hasClickhouse)('attacks on a ClickHouse server', () => {
  let server: ClickhouseServer;
  let source: Source;

  beforeAll(async () => {
    server = await startClickhouse();
    for (const statement of SHOP) await server.run(statement);
    source = openClickhouse({ ...SETTINGS, port: server.port }, localPolicy);
  });
  afterAll(async () => {
    await source.close();
    await server.stop();
  });

  test('change nothing, and the next call works', async () => {
    const before = await server.run(STATE);
    await attempts(source, ATTACKS);
    expect(await server.run(STATE)).toBe(before);
    expect(existsSync('/tmp/sluice_evil')).toBe(false);
    expect((await source.query(sql('SELECT id FROM victim'), READ)).rows).toEqual([{ id: 1 }]);
  });

  test('through functions of tables are refused wherever these stand', async () => {
    await attempts(source, OUTSIDE.flatMap(places));
    expect((await source.query(sql('SELECT id FROM victim'), READ)).rows).toEqual([{ id: 1 }]);
  });

  test('the server itself refuses to write, without our reading of the text', async () => {
    for (const text of ['INSERT INTO shop.victim VALUES (2)', 'DROP TABLE shop.victim', 'CREATE TEMPORARY TABLE t (a Int8)']) {
      const response = await fetch(`http://127.0.0.1:${server.port}/?readonly=1`, { method: 'POST', body: text });
      expect([text, response.ok, await response.text()]).toEqual([text, false, expect.stringContaining('Code: 164') as string]);
    }
  });
});

describe.skipIf(!hasChdb)('attacks on the engine of ClickHouse 26.7', () => {
  let chdb: Chdb;
  let source: Source;

  beforeAll(async () => {
    chdb = await startChdb();
    for (const statement of SHOP) await chdb.run(statement);
    source = openClickhouse({ ...SETTINGS, port: 8123 }, { ...localPolicy, fetch: chdb.fetch });
  }, 60_000);
  afterAll(async () => {
    await source.close();
    await chdb.stop();
  });

  test('are refused, and leave the engine as it was', async () => {
    const before = await chdb.run(STATE);
    await attempts(source, [...ATTACKS, ...OUTSIDE.flatMap(places)]);
    expect(await chdb.run(STATE)).toBe(before);
    expect(existsSync(join(chdb.folder, 'evil.csv'))).toBe(false);
    expect((await source.query(sql('SELECT id FROM victim'), READ)).rows).toEqual([{ id: 1 }]);
  });

  test('no function of tables is left out: each that the engine has is refused or makes its rows itself', async () => {
    const names = (await chdb.run('SELECT name FROM system.table_functions ORDER BY name')).split('\n');
    expect(names.length).toBeGreaterThan(60);
    const passed: string[] = [];
    for (const name of names) {
      const found = await classify(parseSql(`select * from "${name}"('x')`, 'clickhouse', []));
      if (found.forbidden === null) passed.push(name);
    }
    expect(passed).toEqual([
      'generateRandom',
      'generateSeries',
      'generate_series',
      'null',
      'numbers',
      'numbers_mt',
      'primes',
      'values',
      'view',
      'zeros',
      'zeros_mt',
    ]);
    const anywhere = names.filter(
      (name) => !passed.includes(name) && !CLICKHOUSE_RULES.forbiddenFunctions.has(name.toLowerCase()),
    );
    // These are functions of values too, or read nothing that is not given to them.
    expect(anywhere).toEqual(['SQLStandardValues', 'format', 'fuzzJSON', 'viewIfPermitted']);
  });

  test('what readonly = 1 of the engine lets through is known', async () => {
    const strict = await startChdb({ readonly: '1' });
    const run = async (text: string) => {
      const response = await strict.fetch('http://127.0.0.1/?default_format=TSV', { method: 'POST', body: text });
      return response.ok ? 'ran' : /Code: (\d+)/.exec(await response.text())?.[1];
    };
    expect(await run("INSERT INTO FUNCTION file('evil.csv') SELECT 1")).toBe('164');
    expect(await run("SELECT * FROM url('http://127.0.0.1:1/', CSV, 'a String')")).toBe('164');
    expect(await run("SELECT * FROM file('x.csv', CSV, 'a String')")).toBe('164');
    expect(await run('SET max_threads = 1')).toBe('164');
    expect(await run('KILL QUERY WHERE 0 SYNC')).toBe('ran');
    expect(await run('SELECT sleep(0)')).toBe('ran');
    await strict.stop();
  }, 60_000);

  test('names that only look like one pass', async () => {
    for (const text of [
      'SELECT url, file, settings, format FROM t WHERE settings = 1 AND format IS NULL',
      'SELECT t.settings, t.format AS format FROM t ORDER BY format DESC',
      "SELECT format('{}', 'x'), extract(YEAR FROM now()), arrayJoin([1]) FROM numbers(3)",
      'SELECT a FROM t ARRAY JOIN arrayMap(x -> x, [1]) AS a, range(3) AS b',
      'SELECT a FROM t LEFT ARRAY JOIN arrayEnumerate(c) AS n',
      'SELECT \'KILL QUERY\', "insert" FROM t -- FORMAT CSV',
      'SELECT x ? 1 : 2, a.:Int64, b::String FROM system.tables',
      'SELECT [ [1, 2], [3] ] AS l, $$ : heredoc $$ AS h',
      'FROM t SELECT a',
    ]) {
      const found = await classify(parseSql(text, 'clickhouse', []));
      expect([text, found.read_only, found.forbidden]).toEqual([text, true, null]);
    }
  });
});
