import { describe, expect, test } from 'bun:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { bind, classify, parameterNames, parseSql, tokenize } from '#test/support/sql.ts';

describe('statements as DuckDB reads them', () => {
  test('parameters are found where they are, and nowhere else', () => {
    const cases: readonly (readonly [string, readonly string[]])[] = [
      ['select :a, ":no", \':no\', x::int, $$ :no $$, $t$ :no $t$ -- :no\n /* :no /* */ */ :b', ['a', 'b']],
      [`select E'it\\'s :no', a[1:n], {k: :value}, a // :d`, ['value', 'd']],
      ['select lambda x: x + :n', ['n']],
      ['select 1 [[ where a = :maybe ]]', ['maybe']],
    ];
    for (const [sql, names] of cases) expect(parameterNames(sql, 'duckdb')).toEqual([...names]);
    for (const sql of ['select ?', 'select ?1', 'select $1', 'select $name', 'select 1=?']) {
      expect(() => parseSql(sql, 'duckdb', [])).toThrow();
    }
  });

  test('lists are one value, and a name is sent once', () => {
    const statement = parseSql('select 1 where id in (:ids) and not x not in (:ids) and :n = :n', 'duckdb', [
      { name: 'ids', type: 'array', items: 'integer' },
      { name: 'n', type: 'integer' },
    ]);
    expect(bind(statement, { ids: [1, 2], n: 3 })).toMatchObject({
      text: 'select 1 where id = ANY($1) and not x <> ALL($1) and $2 = $2',
      values: [[1, 2], 3],
    });
  });

  test('what DuckDB takes for one statement is one to us', async () => {
    const instance = await DuckDBInstance.create();
    const connection = await instance.connect();
    const texts = [
      "select U&'a' || 'b' from (select 1 as U, 'x' as a)",
      'select 1 -- ; select 2\r; select 3',
      "select 'a''b;' ; ",
      'select $a$ ; $a$',
      'select /* ; /* ; */ ; */ 1',
      `select E'\\';'`,
      'select 1 as "a;b"',
    ];
    for (const text of texts) {
      const count = await connection.extractStatements(text).then(
        (found) => found.count,
        () => 0,
      );
      const ours = tokenize(text, 'duckdb').map(({ kind, start, end }) =>
        kind === 'comment' ? ' ' : kind === 'separator' ? ';' : text.slice(start, end).replaceAll(';', '.'),
      );
      const parts = ours
        .join('')
        .split(';')
        .filter((part) => part.trim() !== '').length;
      if (count > 0) expect([text, parts]).toEqual([text, count]);
    }
    connection.closeSync();
  });

  test('reads and refusals are told apart', async () => {
    const claim = (sql: string) => classify(parseSql(sql, 'duckdb', []));
    for (const sql of [
      'select 1',
      'from t',
      'with a as (select 1) from a',
      'values (1)',
      'summarize t',
      "select replace('a', 'b', 'c') from t",
      'select * exclude (a) from t qualify row_number() over () = 1',
      'describe t',
    ]) {
      expect([sql, (await claim(sql)).read_only]).toEqual([sql, true]);
    }
    for (const sql of [
      'insert into t values (1)',
      "copy t to 'x'",
      'set threads = 1',
      "attach 'x'",
      'begin',
      'explain select 1',
    ]) {
      expect([sql, (await claim(sql)).forbidden]).toEqual([sql, expect.any(String) as string]);
    }
  });
});
