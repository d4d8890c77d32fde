import { describe, expect, test } from 'bun:test';
import { engineOf, openSource } from '#core/engines/index.ts';
import { bind } from '#core/lib/sql/bind.ts';
import { pagingOf } from '#core/lib/sql/paging.ts';
import { parseSql } from '#core/lib/sql/parse.ts';
import { pageColumns } from '#snapshots/freeze/entities.ts';
import { compileQuery, describeCompiled } from '#snapshots/freeze/compile.ts';
import { localPolicy, reachable, testDatabase } from '#test/support/databases.ts';

const SQL = 'select id, day from sales';
const FILL = {
  postgresql: "insert into sales select i, timestamp '2020-01-01' + i * interval '1 minute' from generate_series(1, 20000) i",
  mysql: "insert into sales select seq, date_add('2020-01-01', interval seq minute) from seq_1_to_20000",
} as const;

for (const kind of ['postgresql', 'mysql'] as const) {
  const up = kind === 'mysql' ? reachable.mysql : reachable.postgres;
  test.skipIf(!up && process.env['CI'] !== 'true')(`an index on ${kind} answers each page without sorting`, async () => {
    const database = await testDatabase(kind);
    try {
      // Nothing says that they are not null: a walk over an index does not depend on it.
      await database.run(`create table sales (id int primary key, day ${kind === 'mysql' ? 'datetime' : 'timestamp'})`);
      await database.run(FILL[kind]);
      await database.run('create index sales_day on sales (day, id)');
      await database.run(kind === 'mysql' ? 'analyze table sales' : 'analyze sales');
      const source = await openSource(database.settings, localPolicy);
      const { dialect } = engineOf(database.settings.db_type);
      const definition = { sql_query: SQL, parameters: [], return_type: 'rows', transform_template: null } as const;
      const described = await source.describe(SQL, []);
      await source.close();
      const compiled = describeCompiled(await compileQuery(definition, database.settings.db_type), definition, {
        ...described,
        reads: [],
      });
      for (const columns of [['id'], ['day', 'id']]) {
        for (const desc of [false, true]) {
          const by = pageColumns(
            columns.map((column) => ({ column, desc })),
            compiled,
            dialect,
          );
          const paging = pagingOf(parseSql(SQL, dialect, []), dialect, by, 51);
          const whole = paging?.parts.plain ?? paging?.parts.values;
          if (whole === undefined) throw new Error('There are no pages.');
          const cells = columns.map((column) => (column === 'id' ? 9_000 : '2020-01-07 06:00:00'));
          const bound = bind(whole, dialect, Object.fromEntries(cells.map((cell, index) => [`page.${index}`, cell])));
          let given = 0;
          const text = bound.text.replaceAll(/\$(\d+)|\?/g, (_, number: string | undefined) => {
            const value = bound.values[number === undefined ? given++ : Number(number) - 1];
            return typeof value === 'number' ? String(value) : `'${typeof value === 'string' ? value : ''}'`;
          });
          const plan = JSON.stringify(await database.run(`explain ${text}`));
          expect([columns, desc, plan]).toEqual([columns, desc, expect.stringMatching(/Index (Only )?Scan|"range"/)]);
          expect(plan).not.toMatch(/Sort|filesort|Seq Scan/);
        }
      }
    } finally {
      await database.drop();
    }
  });
}

describe('pages', () => {
  test('without a column have no statements', () => {
    const { dialect } = engineOf('sqlite');
    expect(pagingOf(parseSql('select 1 as id', dialect, []), dialect, [], 2)).toBeNull();
  });
});
