import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { openMysql } from '#core/engines/mysql/source.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { localPolicy, reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';
import { READ, refusal, sql } from '../shared/suite.ts';

let database: TestDatabase;
let source: Source;
/** Where the server would write, and no file of ours. */
const file = `/tmp/sluice-outfile-${crypto.randomUUID()}`;

beforeAll(async () => {
  if (!reachable.mysql) return;
  database = await testDatabase('mysql');
  for (const text of [
    'CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(10)) ENGINE = InnoDB',
    "INSERT INTO t VALUES (1, 'one'), (2, 'two')",
    'CREATE TABLE plain (id INT) ENGINE = MyISAM',
    'CREATE SEQUENCE s',
    "CREATE FUNCTION writes() RETURNS INT BEGIN INSERT INTO t VALUES (77, 'f'); RETURN 1; END",
    'CREATE FUNCTION frees() RETURNS INT BEGIN SET SESSION TRANSACTION READ WRITE; RETURN 1; END',
    'CREATE PROCEDURE deletes() BEGIN DELETE FROM t; END',
  ]) {
    await database.run(text);
  }
  source = openMysql({ ...database.settings, pool_size: 1 }, localPolicy);
});

afterAll(async () => {
  await source?.close();
  await database?.drop();
});

/** Refused by the server's read-only transaction, by its account of the columns, or by its protocol. */
const ATTACKS: readonly string[] = [
  "INSERT INTO t VALUES (3, 'three')",
  "INSERT INTO t VALUES (3, 'three') RETURNING id",
  "REPLACE INTO t VALUES (1, 'uno')",
  'INSERT INTO plain VALUES (1)',
  "UPDATE t SET a = 'x'",
  'DELETE FROM t',
  'DELETE FROM t RETURNING id',
  '/*! DELETE FROM t */',
  '/*M! DELETE FROM t */',
  '/*!50000 DROP TABLE t */',
  "SELECT 1 /*! INTO OUTFILE '$file' */",
  "SELECT 1 INTO OUTFILE '$file'",
  "SELECT 1 INTO DUMPFILE '$file'",
  'SELECT id FROM t LIMIT 1 INTO @x',
  'SELECT 1; DELETE FROM t',
  'TRUNCATE t',
  'CREATE TABLE u (a INT)',
  'CREATE TABLE u AS SELECT * FROM t',
  'CREATE TEMPORARY TABLE u (a INT)',
  'CREATE OR REPLACE VIEW u AS SELECT 1',
  'CREATE FUNCTION u() RETURNS INT RETURN 1',
  'DROP TABLE t',
  'ALTER TABLE t ADD COLUMN b INT',
  'RENAME TABLE t TO u',
  'CREATE INDEX i ON t (a)',
  'GRANT ALL ON *.* TO root@localhost',
  "CREATE USER 'sluice_attack'@'localhost'",
  "SET PASSWORD FOR 'sluice_attack'@'localhost' = ''",
  'SET SESSION TRANSACTION READ WRITE',
  'SET TRANSACTION READ WRITE',
  'SET @@session.tx_read_only = 0',
  'SET @x = 1',
  "SET SESSION sql_mode = ''",
  'SET GLOBAL general_log = 1',
  'SET STATEMENT tx_read_only = 0 FOR DELETE FROM t',
  'START TRANSACTION',
  'START TRANSACTION READ WRITE',
  'BEGIN',
  'COMMIT',
  'COMMIT AND CHAIN',
  'ROLLBACK',
  "XA START 'sluice'",
  'BEGIN NOT ATOMIC DELETE FROM t; END',
  "EXECUTE IMMEDIATE 'DELETE FROM t'",
  "PREPARE p FROM 'DELETE FROM t'",
  'CALL deletes()',
  'DO writes()',
  'SELECT writes()',
  'SELECT nextval(s)',
  'SELECT setval(s, 100)',
  'SELECT * FROM t FOR UPDATE',
  'ANALYZE DELETE FROM t',
  "ANALYZE UPDATE t SET a = 'x'",
  'ANALYZE TABLE t',
  'OPTIMIZE TABLE t',
  'REPAIR TABLE plain',
  'CHECK TABLE t',
  'CACHE INDEX plain IN DEFAULT',
  "LOAD DATA INFILE '/etc/hostname' INTO TABLE t",
  "LOAD DATA LOCAL INFILE '/etc/hostname' INTO TABLE t",
  'LOCK TABLES t WRITE',
  'HANDLER t OPEN',
  'FLUSH TABLES',
  'FLUSH TABLES WITH READ LOCK',
  'BACKUP STAGE START',
  'USE mysql',
  'KILL 1',
  'SHUTDOWN',
  "INSTALL SONAME 'nothing'",
];

const filled = (text: string) => text.replaceAll('$file', file);

/** What a later call would see of an earlier one. */
const TRACES = sql(`SELECT @x AS x, @@tx_read_only AS only_reads, database() AS current, @@sql_mode LIKE '%STRICT%' AS strict,
  is_used_lock('sluice') AS locked, (SELECT group_concat(id, a ORDER BY id) FROM t) AS data`);

async function expectUntouched(): Promise<void> {
  const { rows } = await source.query(TRACES, READ);
  expect(rows).toEqual([
    { x: null, only_reads: 1, current: database.settings.database, strict: 1, locked: null, data: '1one,2two' },
  ]);
}

describe.skipIf(!reachable.mysql)('a MariaDB session that only reads', () => {
  for (const mode of ['read', 'fixed'] as const) {
    test(`refuses the whole corpus in mode ${mode}, and nothing changes`, async () => {
      const tables = await database.run('SHOW TABLES');
      for (const text of ATTACKS) {
        const error = await refusal(source.query(sql(filled(text)), { ...READ, mode }));
        expect([text, error.code]).toEqual([text, expect.stringMatching(/^(not_read_only|sql_error)$/) as string]);
        await expectUntouched();
      }
      expect(await database.run('SHOW TABLES')).toEqual(tables);
      expect(await database.run("SELECT user FROM mysql.user WHERE user = 'sluice_attack'")).toEqual([]);
      expect(await database.run('SELECT @@global.general_log AS log')).toEqual([{ log: 0 }]);
      expect(await database.run('SELECT next_not_cached_value AS next FROM s')).toEqual([{ next: 1 }]);
      expect(await database.run(`SELECT load_file('${file}') AS written`)).toEqual([{ written: null }]);
    });
  }

  test('leaves nothing of a statement that changes the session without writing', async () => {
    for (const text of [
      'SELECT @x := 5',
      "SELECT get_lock('sluice', 0)",
      'SELECT frees()',
      'SET STATEMENT tx_read_only = 0 FOR SELECT 1',
      'SELECT last_insert_id(7)',
    ]) {
      expect((await source.query(sql(text), READ)).rows).toHaveLength(1);
      await expectUntouched();
    }
    expect((await source.query(sql('SELECT last_insert_id() AS id'), READ)).rows).toEqual([{ id: 0 }]);
  });

  test('cannot write by lifting the rule inside the statement', async () => {
    for (const text of [
      'SET STATEMENT tx_read_only = 0 FOR SELECT nextval(s)',
      'SELECT frees() UNION SELECT writes()',
      'SET STATEMENT tx_read_only = 0 FOR DELETE FROM t RETURNING id',
    ]) {
      expect((await refusal(source.query(sql(text), READ))).code).toBe('not_read_only');
      await expectUntouched();
    }
  });

  test('may look at the schema, at query plans and at the server', async () => {
    for (const text of [
      'SHOW TABLES',
      'SHOW CREATE TABLE t',
      'DESCRIBE t',
      'EXPLAIN SELECT * FROM t',
      'ANALYZE SELECT * FROM t',
      'SHOW PROCESSLIST',
      'VALUES (1)',
    ]) {
      expect((await source.query(sql(text), READ)).rows.length).toBeGreaterThan(0);
    }
  });
});
