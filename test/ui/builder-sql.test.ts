import { describe, expect, test } from 'bun:test';
import { fc } from '#test/support/chance.ts';
import { DbType } from '#core/contract/definitions/connections.ts';
import {
  type Dialect,
  dialectOf,
  eachOnce,
  optionalBlocks,
  parameterNames,
  scanSql,
  sqlFaults,
} from '#ui/src/features/builder/sql/scan.ts';
import { parameterNames as enginesNames } from '#test/support/sql.ts';

const DIALECTS: readonly Dialect[] = ['postgresql', 'duckdb', 'mysql', 'sqlite', 'clickhouse'];

test('every type of database has the grammar in which the server reads it', async () => {
  const { engineOf } = await import('#core/engines/index.ts');
  for (const db_type of DbType.options) {
    const found: readonly string[] = [db_type, dialectOf(db_type)];
    expect(found).toEqual([db_type, engineOf(db_type).dialect.name]);
  }
});

describe('parameters', () => {
  const cases: readonly (readonly [Dialect, string, readonly string[]])[] = [
    ['postgresql', 'select :a, :b, :a', ['a', 'b']],
    ['postgresql', 'select \':no\', ":no", x::text, $$ :no $$, $t$ :no $t$ -- :no\n, /* :no /* :no */ */ :yes', ['yes']],
    ['postgresql', "select E'it\\'s :no', a[1:n], a[:lo :hi], d - :days", ['lo', 'hi', 'days']],
    ['postgresql', 'select a ? :key, b @> :json::jsonb', ['key', 'json']],
    ['mysql', "select 'it\\'s :no', \":no\", `:no`, @x := :value # :no", ['value']],
    ['mysql', 'select 5--:n', ['n']],
    ['sqlite', 'select [a :no], "b :no", `c :no` from t where x = :yes [[ and y = :maybe ]]', ['yes', 'maybe']],
    ['clickhouse', `select 'it\\'s :no', "a :no", $$ :no $$, $t$ :no $t$, x.:Int64, y::String, {p:Int8} -- :no\n, :yes`, ['yes']],
    ['postgresql', "select 'open :no", []],
  ];
  test.each(cases)('of %s in %s', (dialect, sql, names) => {
    expect(parameterNames(sql, dialect)).toEqual([...names]);
  });

  const fragment = fc.constantFrom(
    ...`'a :s'|"i :s"|\`b\`|-- c :s\n|/* :s */|/* /* */ */|$$ :s $$|E'\\''|'it''s'|:a|:b_1|::int|x|array|select| |\n|,|(|)|[|]|[[|]]|1|1.5|1:|:=`
      .split('|')
      .concat("?|$1|@v|;|# :s\n|-|--|e|=|<@|->>|$|[n :s]|é|x'ff'".split('|')),
  );
  test.each(DIALECTS)('are those that the server finds (%s)', (dialect) => {
    fc.assert(
      fc.property(fc.array(fragment, { maxLength: 12 }), (fragments) => {
        const sql = fragments.join('');
        let expected: string[];
        try {
          expected = enginesNames(sql, dialect);
        } catch {
          parameterNames(sql, dialect);
          return;
        }
        expect({ sql, names: parameterNames(sql, dialect) }).toEqual({ sql, names: expected });
      }),
      { numRuns: 2_000 },
    );
  });

  test('the pieces of any text follow each other and end within it', () => {
    fc.assert(
      fc.property(fc.string(), fc.constantFrom(...DIALECTS), (sql, dialect) => {
        let end = 0;
        for (const piece of scanSql(sql, dialect)) {
          expect(piece.start).toBeGreaterThanOrEqual(end);
          expect(piece.end).toBeGreaterThan(piece.start);
          end = piece.end;
        }
        expect(end).toBeLessThanOrEqual(sql.length);
      }),
    );
  });
});

describe('optional blocks', () => {
  const blocks = (sql: string, dialect: Dialect = 'postgresql') =>
    optionalBlocks(sql, scanSql(sql, dialect)).map(({ start, end, names }) => [sql.slice(start, end), ...names]);

  test('hold a parameter', () => {
    const sql = 'select * from t where true [[ and a = :a ]] [[and b in (:b, :c)]] [[ ]]';
    expect(blocks(sql)).toEqual([
      ['[[ and a = :a ]]', 'a'],
      ['[[and b in (:b, :c)]]', 'b', 'c'],
    ]);
    expect(blocks('select [a] from t where x [[ and y = :y ]]', 'sqlite')).toEqual([['[[ and y = :y ]]', 'y']]);
  });

  test('are no arrays and no subscripts', () => {
    expect(blocks('select array[[1,2],[3,4]], a[[:i]], x[1]')).toEqual([]);
    expect(blocks("select '[[ :no ]]' -- [[ :no ]]")).toEqual([]);
  });
});

test('a mistake that the server finds at the same place is told once, in its words', () => {
  const local = [
    { start: 7, message: 'here' },
    { start: 20, message: 'here too' },
  ];
  const remote = [
    { start: 7, message: 'there' },
    { start: 7, message: 'there again' },
  ];
  expect(eachOnce([...remote, ...local]).map(({ message }) => message)).toEqual(['there', 'here too']);
  expect(eachOnce(local)).toEqual(local);
});

test('what is certain to be refused is told where it stands', () => {
  const faults = (sql: string, dialect: Dialect = 'postgresql') =>
    sqlFaults(sql, scanSql(sql, dialect)).map(({ start, message }) => [start, message.split(/[;:]/)[0]]);
  expect(faults("select 'a")).toEqual([[7, 'This string is not closed.']]);
  expect(faults('select 1; select 2')).toEqual([[10, 'One statement only.']]);
  expect(faults('select 1; -- done')).toEqual([]);
  expect(faults('select $1')).toEqual([[7, 'Write each parameter as ']]);
  expect(faults('select a from t where b = ?', 'mysql')).toEqual([[26, 'Write each parameter as ']]);
});
