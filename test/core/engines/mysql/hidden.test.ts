import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { openMysql } from '#core/engines/mysql/source.ts';
import type { RunOptions, Source } from '#core/engines/shared/source.ts';
import { localPolicy, reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';
import { FIXED, READ, sql, WRITE } from '../shared/suite.ts';
import { until } from '#test/support/until.ts';

/** What the body of a function may try. Each is a function of its own: one that writes is refused before it begins. */
const ACTS: Readonly<Record<string, string>> = {
  lifts: 'SET SESSION tx_read_only = 0',
  inserts: 'INSERT INTO victims VALUES (2)',
  inserts_plain: 'INSERT INTO plain VALUES (2)',
  deletes: 'DELETE FROM victims',
  advances: 'DO nextval(counter)',
  variable: 'SET @evil = 5',
  temporary: 'CREATE TEMPORARY TABLE IF NOT EXISTS evil (id INT)',
  locks: "DO get_lock('$database', 0)",
  cuts: 'SET SESSION sql_select_limit = 1',
  moves: "SET SESSION time_zone = '+09:00'",
  shortens: 'SET SESSION group_concat_max_len = 4',
  unbounds: 'SET SESSION max_statement_time = 0',
  loosens: "SET SESSION sql_mode = ''",
  recodes: 'SET SESSION character_set_results = latin1',
  isolates: 'SET SESSION tx_isolation = SERIALIZABLE',
  numbers: 'DO last_insert_id(4711)',
};

interface Way {
  readonly name: string;
  readonly make: (act: string) => readonly string[];
  readonly text: string;
}

/** The ways from an innocent text to a function. */
const WAYS: readonly Way[] = [
  {
    name: 'a view',
    make: (act) => [`CREATE OR REPLACE VIEW seen AS SELECT id, ${act}() AS e FROM victims`],
    text: 'SELECT id, e FROM seen',
  },
  {
    name: 'a view behind a view, with the rights of its maker',
    make: (act) => [
      `CREATE OR REPLACE SQL SECURITY DEFINER VIEW inner_seen AS SELECT id, ${act}() AS e FROM victims`,
      'CREATE OR REPLACE VIEW outer_seen AS SELECT id, e FROM inner_seen',
    ],
    text: 'SELECT id, e FROM outer_seen',
  },
  {
    name: 'a view of another database, with a name in quotes',
    make: (act) => [`CREATE OR REPLACE VIEW $other.\`se\`\`en it\` AS SELECT 1 AS id, $database.${act}() AS e`],
    text: 'SELECT id, e FROM $other.`se``en it`',
  },
  {
    name: 'a function with the name of a built-in that this server lacks',
    make: (act) => [
      'DROP FUNCTION IF EXISTS any_value',
      `CREATE FUNCTION any_value(x INT) RETURNS INT BEGIN RETURN ${act}(); END`,
    ],
    text: 'SELECT any_value(id) AS id FROM victims',
  },
  {
    name: 'a trigger',
    make: (act) => [
      'CREATE OR REPLACE TABLE triggered (id INT)',
      `CREATE OR REPLACE TRIGGER t BEFORE INSERT ON triggered FOR EACH ROW SET NEW.id = ${act}()`,
    ],
    text: 'INSERT INTO triggered VALUES (1) RETURNING id',
  },
];

const STATE = `SELECT @evil AS variable, @@tx_read_only AS only_reads, @@sql_select_limit AS most, @@time_zone AS zone,
  @@group_concat_max_len AS longest, @@max_statement_time AS time, @@sql_mode AS mode, @@character_set_results AS letters,
  @@tx_isolation AS isolation, last_insert_id() AS id, is_used_lock('$database') AS locked, database() AS current`;

describe.skipIf(!reachable.mysql)('code behind the names in a statement, on MariaDB', () => {
  let database: TestDatabase;
  let other: TestDatabase;
  let source: Source;
  const filled = (text: string): string =>
    text.replaceAll('$database', database.settings.database).replaceAll('$other', other.settings.database);

  beforeAll(async () => {
    database = await testDatabase('mysql');
    other = await testDatabase('mysql');
    await run([
      'CREATE TABLE victims (id INT PRIMARY KEY) ENGINE = InnoDB',
      'INSERT INTO victims VALUES (1), (7), (8)',
      'CREATE TABLE plain (id INT) ENGINE = MyISAM',
      'CREATE SEQUENCE counter',
      ...Object.entries(ACTS).map(([name, act]) => `CREATE FUNCTION ${name}() RETURNS INT BEGIN ${act}; RETURN 1; END`),
    ]);
  });

  afterAll(async () => {
    await source?.close();
    await database.drop();
    await other.drop();
  });

  const run = async (texts: readonly string[]): Promise<void> => {
    for (const text of texts) await database.run(filled(text));
  };
  const open = (): Source => openMysql({ ...database.settings, pool_size: 1 }, localPolicy);
  const attack = (text: string, options: RunOptions) => source.query(sql(filled(text)), options).catch(() => null);
  const outside = async (): Promise<unknown> =>
    database.run(
      filled(`SELECT (SELECT group_concat(id) FROM victims) AS victims, (SELECT count(*) FROM plain) AS plain,
      (SELECT next_not_cached_value FROM counter) AS counted, is_used_lock('$database') AS locked`),
    );
  /** What the next caller sees, the number of rows and a temporary table of the first included. */
  const seen = async (options: RunOptions): Promise<unknown> => [
    (await source.query(sql(filled(STATE)), options)).rows,
    await source.query(sql('SELECT id FROM victims'), options),
    await source.query(sql('SELECT id FROM evil'), options).catch(() => 'no such table'),
  ];

  for (const { name, make, text } of WAYS) {
    for (const mode of [FIXED, READ]) {
      test(`${name}: nothing is written, and nothing is left for the next caller (${mode.mode})`, async () => {
        source = open();
        const [before, state] = [await outside(), await seen(mode)];
        for (const act of Object.keys(ACTS)) {
          await run(make(act).map((line) => filled(line)));
          for (let n = 0; n < 2; n++) {
            await attack(text, mode);
            await attack('INSERT INTO victims VALUES (3)', mode);
            expect([act, await outside()]).toEqual([act, before]);
            expect([act, await seen(mode)]).toEqual([act, state]);
          }
        }
        await source.close();
      }, 60_000);
    }

    test(`${name}: nothing is left for the next caller of a writing session`, async () => {
      source = open();
      const state = await seen(WRITE);
      for (const act of Object.keys(ACTS).filter((one) => !/insert|delete|advance/.test(one))) {
        await run(make(act).map((line) => filled(line)));
        await attack(text, WRITE);
        expect([act, await seen(WRITE)]).toEqual([act, state]);
      }
      await source.close();
    }, 60_000);
  }

  test('a table that becomes a view after the check of its statement writes nothing, and its session ends', async () => {
    await run(['CREATE TABLE turned AS SELECT 1 AS id']);
    source = open();
    const [before, state] = [await outside(), await seen(FIXED)];
    const text = 'SELECT id FROM turned';
    for (let n = 0; n < 5; n++) expect((await source.query(sql(text), FIXED)).rows).toEqual([{ id: 1 }]);
    for (const act of ['lifts', 'variable', 'cuts', 'inserts', 'inserts_plain', 'deletes', 'advances']) {
      await run(['DROP TABLE IF EXISTS turned', `CREATE OR REPLACE VIEW turned AS SELECT ${act}() AS id`]);
      for (let n = 0; n < 2; n++) await attack(text, FIXED);
      expect([act, await outside()]).toEqual([act, before]);
    }
    await until(async () => Bun.deepEquals(await seen(FIXED), state));
  }, 60_000);

  test('a generated column cannot hold a function that somebody made', async () => {
    const text = 'CREATE TABLE generated (id INT, e INT AS (lifts()) VIRTUAL)';
    expect(
      await run([text]).then(
        () => 'created',
        () => 'refused',
      ),
    ).toBe('refused');
  });
});
