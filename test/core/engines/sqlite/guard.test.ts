import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, linkSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Source } from '#core/engines/shared/source.ts';
import { READ, refusal, sql, WRITE } from '../shared/suite.ts';
import { createSqliteFolder } from './fixture.ts';

const files = createSqliteFolder();
let source: Source;

beforeAll(() => {
  files.create('main.db', "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT UNIQUE); INSERT INTO t VALUES (1, 'one'), (2, 'two')");
  files.create('other.db', "CREATE TABLE secret (word TEXT); INSERT INTO secret VALUES ('hidden')");
  files.create('own.db', 'CREATE TABLE accounts (id)');
  source = files.open('main.db', { pool_size: 2 });
});

afterAll(() => files.remove());

/** Statements that write, reach another file, or would leave something behind in the session. */
const ATTACKS: readonly string[] = [
  "INSERT INTO t VALUES (3, 'three')",
  "REPLACE INTO t VALUES (1, 'uno')",
  "UPDATE t SET a = 'x'",
  'DELETE FROM t',
  'DELETE FROM t WHERE 0',
  "WITH x AS (SELECT 1) INSERT INTO t SELECT 9, 'nine'",
  'WITH x AS (SELECT 1) DELETE FROM t RETURNING id',
  'CREATE TABLE u (a)',
  'CREATE TABLE u AS SELECT * FROM t',
  'CREATE VIEW u AS SELECT 1',
  'CREATE INDEX u ON t (a)',
  'CREATE VIRTUAL TABLE u USING fts5(a)',
  'CREATE TRIGGER u AFTER INSERT ON t BEGIN DELETE FROM t; END',
  'CREATE TEMP TABLE u (a)',
  'CREATE TEMP VIEW t AS SELECT 1',
  'CREATE TEMPORARY TRIGGER u AFTER INSERT ON t BEGIN SELECT 1; END',
  'DROP TABLE t',
  'ALTER TABLE t RENAME TO u',
  'REINDEX',
  'ANALYZE',
  'VACUUM',
  "VACUUM INTO '$folder/stolen.db'",
  "ATTACH '$folder/other.db' AS o",
  "ATTACH DATABASE 'file:$folder/other.db?mode=ro' AS o",
  "ATTACH '$folder/new.db' AS o",
  "ATTACH '' AS o",
  "ATTACH ':memory:' AS o",
  "/* x */ -- y\n ; ATTACH '$folder/other.db' AS o",
  "EXPLAIN ATTACH '$folder/other.db' AS o",
  'DETACH main',
  'PRAGMA query_only = 0',
  'EXPLAIN PRAGMA query_only = 0',
  'PRAGMA writable_schema = 1',
  'PRAGMA trusted_schema = 1',
  'PRAGMA journal_mode = wal',
  'PRAGMA user_version = 7',
  'PRAGMA database_list',
  'PRAGMA busy_timeout = 1',
  'PRAGMA case_sensitive_like = 1',
  "PRAGMA temp_store_directory = '/tmp'",
  'SELECT * FROM pragma_optimize',
  'BEGIN',
  'COMMIT',
  'END',
  'ROLLBACK',
  'SAVEPOINT s',
  "SELECT load_extension('/tmp/x.so')",
  "SELECT fts3_tokenizer('simple', x'00')",
  'SELECT 1; DELETE FROM t',
  "UPDATE sqlite_schema SET sql = 'x'",
  'DELETE FROM temp.sqlite_schema',
];

/** Of these, `write` allows what stays within the tables of the file. */
const REFUSED_IN_WRITE =
  /ATTACH|DETACH|PRAGMA|pragma_|VACUUM|BEGIN$|COMMIT|^END|ROLLBACK|SAVEPOINT|TEMP|load_ext|tokenizer|; DELETE|sqlite_schema/;

const filled = (text: string) => text.replaceAll('$folder', files.folder);

describe('a reading session', () => {
  for (const mode of ['read', 'fixed'] as const) {
    test(`refuses the whole corpus in mode ${mode}, and nothing changes`, async () => {
      const before = readFileSync(join(files.folder, 'main.db'));
      for (const text of ATTACKS) {
        const error = await refusal(source.query(sql(filled(text)), { ...READ, mode }));
        expect([text, error.code]).toEqual([text, expect.stringMatching(/^(not_read_only|sql_error)$/) as string]);
        expect(error.detail).not.toContain(files.folder);
        const next = await source.query(
          sql("SELECT id, a, (SELECT count(*) FROM temp.sqlite_schema) AS n FROM t WHERE a LIKE 'ONE'"),
          READ,
        );
        expect(next.rows).toEqual([{ id: 1, a: 'one', n: 0 }]);
      }
      expect(readFileSync(join(files.folder, 'main.db')).equals(before)).toBe(true);
      expect(existsSync(join(files.folder, 'stolen.db'))).toBe(false);
      expect(existsSync(join(files.folder, 'new.db'))).toBe(false);
    });
  }

  test('says plainly that the statement is not read-only', async () => {
    expect(await refusal(source.query(sql('DELETE FROM t'), READ))).toMatchObject({ code: 'not_read_only' });
    expect(await refusal(source.query(sql(filled("ATTACH '$folder/other.db' AS o")), READ))).toMatchObject({
      code: 'not_read_only',
    });
  });

  test('describes every statement without running it', async () => {
    const before = readFileSync(join(files.folder, 'main.db'));
    for (const text of ATTACKS) await source.describe(filled(text), []).catch(() => undefined);
    expect(readFileSync(join(files.folder, 'main.db')).equals(before)).toBe(true);
    expect((await source.query(sql('SELECT count(*) AS n FROM temp.sqlite_schema'), READ)).rows).toEqual([{ n: 0 }]);
    expect((await refusal(source.query(sql('DELETE FROM t'), READ))).code).toBe('not_read_only');
  });

  test('may look at the schema and at a query plan', async () => {
    expect((await source.query(sql('PRAGMA table_info(t)'), READ)).rows).toHaveLength(2);
    expect((await source.query(sql("SELECT name FROM pragma_table_info('t')"), READ)).rows).toEqual([
      { name: 'id' },
      { name: 'a' },
    ]);
    expect((await source.query(sql('EXPLAIN QUERY PLAN SELECT * FROM t'), READ)).rows).toHaveLength(1);
  });
});

describe('a writing session', () => {
  test('reaches no other file and no setting of the session', async () => {
    files.create('writable.db', "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT); INSERT INTO t VALUES (1, 'one')");
    const target = files.open('writable.db', { pool_size: 1 });
    const refused = ATTACKS.filter((text) => REFUSED_IN_WRITE.test(text));
    expect(refused.length).toBeGreaterThan(28);
    for (const text of refused) {
      const error = await refusal(target.query(sql(filled(text)), WRITE));
      expect([text, error.code]).toEqual([text, 'sql_error']);
    }
    expect(existsSync(join(files.folder, 'new.db'))).toBe(false);
    expect(existsSync(join(files.folder, 'stolen.db'))).toBe(false);
    expect((await target.query(sql("UPDATE t SET a = 'uno'"), WRITE)).affected_rows).toBe(1);
    expect(files.look('writable.db', 'SELECT a FROM t')).toEqual([{ a: 'uno' }]);
  });

  test('may change tables, indexes, views, triggers and full-text tables', async () => {
    files.create('design.db', 'CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)');
    const target = files.open('design.db');
    for (const text of [
      'CREATE INDEX i ON t (a)',
      'CREATE VIEW v AS SELECT a FROM t',
      'CREATE TRIGGER r AFTER INSERT ON t BEGIN UPDATE t SET a = upper(a) WHERE id = new.id; END;',
      'CREATE VIRTUAL TABLE f USING fts5(body)',
      "INSERT INTO f VALUES ('hello')",
      "INSERT INTO t (a) VALUES ('x')",
      'ALTER TABLE t ADD COLUMN b INTEGER',
      'ALTER TABLE t DROP COLUMN b',
      'ANALYZE',
      'REINDEX',
      'DROP VIEW v',
      'DROP TABLE f',
    ]) {
      await target.query(sql(text), WRITE);
    }
    expect((await target.query(sql('SELECT a FROM t'), READ)).rows).toEqual([{ a: 'X' }]);
  });
});

describe('the file', () => {
  test('must be a regular file inside the folder', async () => {
    const outside = join(files.folder, '..', 'outside.db');
    writeFileSync(outside, '');
    symlinkSync(outside, join(files.folder, 'link.db'));
    symlinkSync('/etc', join(files.folder, 'etc'));
    mkdirSync(join(files.folder, 'sub'));
    const names = [
      '../outside.db',
      'sub/../../outside.db',
      outside,
      'link.db',
      'etc/passwd',
      '/etc/passwd',
      'sub',
      '.',
      `${files.folder}-x/a.db`,
      'a\0.db',
    ];
    for (const name of names) {
      const error = await refusal(files.open(name).test());
      expect([name, error.code]).toEqual([name, 'invalid']);
      expect(error.detail).not.toContain(files.folder);
    }
  });

  test('is never created, and a missing one is named as such', async () => {
    for (const name of ['nope.db', 'sub/nope.db', 'file:main.db?mode=rwc', ':memory:']) {
      expect(await refusal(files.open(name).query(sql('CREATE TABLE t (a)'), WRITE))).toMatchObject({
        code: 'database_unreachable',
        reason: 'database_missing',
      });
      expect(existsSync(join(files.folder, name))).toBe(false);
    }
  });

  test('may not be one of our own, by any name', async () => {
    linkSync(join(files.folder, 'own.db'), join(files.folder, 'hard.db'));
    symlinkSync(join(files.folder, 'own.db'), join(files.folder, 'soft.db'));
    for (const name of ['own.db', 'hard.db', 'soft.db', join(files.folder, 'own.db')]) {
      expect((await refusal(files.open(name).test())).code).toBe('invalid');
    }
  });

  test('must be a database', async () => {
    writeFileSync(join(files.folder, 'text.db'), 'not a database, but long enough to be read as a header of one '.repeat(20));
    expect(await refusal(files.open('text.db').test())).toMatchObject({ code: 'database_unreachable', reason: 'failed' });
  });

  test('may be reached by a link or an absolute path inside the folder', async () => {
    symlinkSync(join(files.folder, 'main.db'), join(files.folder, 'inside.db'));
    for (const name of ['inside.db', join(files.folder, 'main.db')]) {
      expect((await files.open(name).query(sql('SELECT count(*) AS n FROM t'), READ)).rows).toEqual([{ n: 2 }]);
    }
  });
});
