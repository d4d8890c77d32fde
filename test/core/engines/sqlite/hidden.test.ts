import { afterAll, describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { RunOptions, Source } from '#core/engines/shared/source.ts';
import { createSqliteFolder } from './fixture.ts';
import { FIXED, READ, sql, WRITE } from '../shared/suite.ts';

/**
 * SQLite has no functions that a file could hold, so what a name hides is a built-in one, a pragma or another statement. Whoever
 * made the file wrote its schema by any means, as here.
 */
interface Way {
  readonly name: string;
  readonly make: string;
  readonly text: string;
}

const WAYS: readonly Way[] = [
  {
    name: 'a view that loads code',
    make: "CREATE VIEW seen AS SELECT load_extension('/tmp/evil.so') AS id",
    text: 'SELECT id FROM seen',
  },
  {
    name: 'a view that writes a file',
    make: "CREATE VIEW seen AS SELECT writefile('$folder/evil', 'x') AS id",
    text: 'SELECT id FROM seen',
  },
  {
    name: 'a view that reads a file',
    make: "CREATE VIEW seen AS SELECT readfile('$folder/other.db') AS id",
    text: 'SELECT id FROM seen',
  },
  ...['journal_mode', 'query_only', 'user_version', 'case_sensitive_like', 'wal_checkpoint', 'optimize', 'database_list'].map(
    (pragma) => ({
      name: `a view over pragma_${pragma}`,
      make: `CREATE VIEW seen AS SELECT * FROM pragma_${pragma}${pragma === 'journal_mode' ? "('off')" : ''}`,
      text: 'SELECT * FROM seen',
    }),
  ),
  {
    name: 'a view with the name of a table of the schema',
    make: 'CREATE VIEW pragma_table_list AS SELECT id FROM victims',
    text: 'SELECT * FROM pragma_table_list',
  },
  {
    name: 'a generated column',
    make: 'CREATE TABLE generated (id INT, made TEXT AS (hex(zeroblob(id))) VIRTUAL); INSERT INTO generated (id) VALUES (1)',
    text: 'SELECT id, length(made) AS made FROM generated',
  },
  {
    name: 'an index over an expression, and a check',
    make: 'CREATE TABLE indexed (id INT CHECK (abs(id) > 0)); CREATE INDEX i ON indexed (abs(id)); INSERT INTO indexed VALUES (1)',
    text: 'SELECT id FROM indexed WHERE abs(id) = 1',
  },
  {
    name: 'a trigger instead of an insert',
    make: 'CREATE VIEW seen AS SELECT 1 AS id; CREATE TRIGGER t INSTEAD OF INSERT ON seen BEGIN DELETE FROM victims; END',
    text: 'INSERT INTO seen VALUES (1) RETURNING id',
  },
  {
    name: 'a virtual table whose own tables are written while it is read',
    make: "CREATE VIRTUAL TABLE found USING fts5(a); INSERT INTO found VALUES ('one')",
    text: "SELECT a FROM found WHERE found MATCH 'one'",
  },
];

const STATE = sql(`SELECT (SELECT count(*) FROM victims) AS victims, (SELECT count(*) FROM sqlite_temp_schema) AS temporary,
  'a' LIKE 'A' AS same, (SELECT user_version FROM pragma_user_version) AS version, (SELECT group_concat(name) FROM pragma_table_list
  WHERE schema <> 'main') AS others`);
const files = createSqliteFolder();

afterAll(() => files.remove());

describe('code behind the names in a statement, on SQLite', () => {
  const seen = async (source: Source, options: RunOptions): Promise<unknown> => {
    const { rows } = await source.query(STATE, options).catch(() => ({ rows: ['refused'] }));
    return [rows, (await source.query(sql('SELECT id FROM victims ORDER BY id'), options)).rows];
  };

  for (const [n, { name, make, text }] of WAYS.entries()) {
    test(`${name}: nothing is written, and nothing is left for the next caller`, async () => {
      const file = `way${n}.db`;
      files.create('other.db', 'CREATE TABLE IF NOT EXISTS secret (word)');
      files.create(
        file,
        `CREATE TABLE victims (id INT); INSERT INTO victims VALUES (1); ${make.replaceAll('$folder', files.folder)}`,
      );
      const source = files.open(file, { pool_size: 1 });
      const outside = () => Bun.file(join(files.folder, file)).arrayBuffer();
      const before = await outside();
      for (const options of [FIXED, READ]) {
        const state = await seen(source, options);
        for (let round = 0; round < 2; round++) {
          const answer = await source.query(sql(text), options).catch(() => null);
          expect(JSON.stringify(answer?.rows ?? null)).not.toMatch(/SQLite format|5351|\/databases\//);
          await source.query(sql('INSERT INTO victims VALUES (3)'), options).catch(() => null);
          expect(await seen(source, options)).toEqual(state);
        }
        expect(Buffer.from(await outside()).equals(Buffer.from(before))).toBe(true);
      }
      const state = await seen(source, READ);
      if (!text.startsWith('INSERT')) {
        await source.query(sql(text), WRITE).catch(() => null);
        expect(await seen(source, WRITE)).toEqual(state);
      }
      expect(existsSync(join(files.folder, 'evil'))).toBe(false);
      await source.close();
    }, 60_000);
  }
});
