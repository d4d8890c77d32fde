import { expect, test } from 'bun:test';
import { toClickhouseError } from '#core/engines/clickhouse/errors.ts';
import { toDuckdbError } from '#core/engines/duckdb/errors.ts';
import { toLibsqlError } from '#core/engines/libsql/stream.ts';
import { reachOf, seesTriggers, uncountedCascade } from '#core/engines/mysql/count.ts';
import { toStatementError } from '#core/engines/mysql/errors.ts';
import { grantsIn } from '#core/engines/mysql/grants.ts';
import { translateError } from '#core/engines/postgresql/errors.ts';
import { uniqueNames } from '#core/engines/shared/rows.ts';
import { toSqliteError } from '#core/engines/sqlite/errors.ts';
import { processorMs } from '#test/support/processor-time.ts';

/** Milliseconds: what takes time quadratic in the length of these texts takes seconds. */
const QUICKLY = 600;

function quickly<T>(work: () => T): T {
  const began = processorMs();
  const result = work();
  expect(processorMs() - began).toBeLessThan(QUICKLY);
  return result;
}

const LENGTH = 50_000;
const ASKED = { text: 'SELECT 1', before: 0 };
const TEXTS: readonly [string, string][] = [
  ['blanks', ' '.repeat(LENGTH)],
  ['blanks between words', `a${' '.repeat(LENGTH)}b`],
  ['line breaks', 'a\n'.repeat(LENGTH / 2)],
  ['places of faults', " near '".repeat(LENGTH / 7)],
  ['names of codes', '(A)'.repeat(LENGTH / 3)],
  ['versions', ' (version '.repeat(LENGTH / 10)],
  ['dots', '. '.repeat(LENGTH / 2)],
];

const mysqlError = (message: string) =>
  Object.assign(new Error(message), { errno: 1064, sqlMessage: message, sqlState: '42000' });
const postgresError = (message: string) =>
  Object.assign(new Error(message), { code: '22P02', severity_local: 'ERROR', hint: message });

test.each(TEXTS)('a message of a database with %s is read quickly, and only its beginning', (_, text) => {
  const json = JSON.stringify({ exception_type: 'Conversion', exception_message: `Could not convert string '${text}'` });
  const errors = quickly(() => [
    toDuckdbError({ message: json, refused: null, writes: false }, 'SELECT 1'),
    toDuckdbError({ message: text, refused: null, writes: false }, 'SELECT 1'),
    toClickhouseError(`Code: 6. DB::Exception: ${text}x`, ASKED),
    toClickhouseError(`Code: 6. DB::Exception: Cannot parse ${text} in scope ${text}. Maybe you meant: ['a'].`, ASKED),
    toStatementError(mysqlError(text), 'SELECT 1'),
    translateError(postgresError(text), { database: 'x', text: 'SELECT 1' }),
    toSqliteError({ message: text, code: 1, refused: null }, { text: 'SELECT 1' }),
    toLibsqlError({ message: text, code: 'SQLITE_ERROR' }, 'SELECT 1'),
  ]);
  for (const { code, detail } of errors) {
    expect(code).toBe('sql_error');
    expect(detail.length).toBeLessThan(9_000);
  }
});

test('a hint behind a long statement is kept', () => {
  const long = `SELECT ${'a, '.repeat(20_000)}b`;
  const said = `Code: 47. DB::Exception: Unknown identifier \`b\` in scope ${long}. Maybe you meant: ['c']. (UNKNOWN_IDENTIFIER) (version 26.7.2.1)`;
  expect(toClickhouseError(said, ASKED).detail).toBe("Unknown identifier `b`. Maybe you meant: ['c'].");
});

test('columns of the same name are told apart in time linear in their number', () => {
  const names = quickly(() => uniqueNames(Array.from({ length: 50_000 }, () => 'a')));
  expect(names[0]).toBe('a');
  expect(names.at(-1)).toBe('a_50000');
  expect(new Set(names).size).toBe(50_000);
  expect(uniqueNames(['a', 'a_2', 'a', 'a', 'a_2'])).toEqual(['a', 'a_2', 'a_3', 'a_4', 'a_2_2']);
});

test.each<[string, string]>([
  ['rights', `GRANT ${'SUPER, '.repeat(LENGTH / 7)}x`],
  ['brackets', `GRANT ${'('.repeat(LENGTH)} ON \`a\`.* TO x`],
  ['places', `GRANT SELECT${' ON `a'.repeat(LENGTH / 6)}`],
  ['names of databases', `GRANT SELECT ON ${'`a``.'.repeat(LENGTH / 5)}`],
  ['quotes', `GRANT SELECT ${'`'.repeat(LENGTH)}`],
])('a line of SHOW GRANTS with many %s is read quickly', (_, line) => {
  quickly(() => seesTriggers(grantsIn([line]))('shop'));
});

test('what a statement runs is followed in time linear in what there is', () => {
  const run_by_name = Array.from({ length: 5_000 }, (_row, n) => ({
    schema: 's',
    name: `f${n}`,
    text: `f${n + 1}`,
  })).toReversed();
  const its = { cascades: [{ schema: 's', target: 'f5000', name: 'b' }], default_schema: 's', seesTriggers: () => true };
  const found = quickly(() =>
    uncountedCascade(reachOf('select f0()', { run_by_name, schemas: ['s'], default_schema: 's' }), its),
  );
  expect(found).toStartWith('f5000 has cascades to b');
});
