import { DatabaseSync } from 'node:sqlite';
import type { BoundType, Json } from '#core/lib/sql/result.ts';
import { columnRule, type SqliteValue } from '#core/engines/sqlite/values.ts';
import { isoDatetime } from '#core/lib/text/datetimes.ts';
import type { OracleColumn } from '../oracle/grammar.ts';
import { decimal, isExact, listIn, plainText, quoted, scalarOf, withoutLimits } from '../oracle/literals.ts';
import type { Answer, OracleDatabase, OracleDialect } from '../oracle/oracle.ts';
import { runOracle } from '../oracle/suite.ts';
import { createSqliteFolder } from './fixture.ts';

const COLUMNS: readonly OracleColumn[] = [
  { name: 'qty', type: 'integer', values: [2, 9, 2_147_483_647] },
  { name: 'big', type: 'integer', values: [10, '9007199254740993', -1] },
  { name: 'price', type: 'number', values: [2.5, 19.99, 7] },
  { name: 'score', type: 'number', values: [0.1, 2.5] },
  { name: 'name', type: 'string', values: ['ann', '2.5', '', "O'Brien"] },
  { name: 'note', type: 'string', values: ['ANN', 'bob'] },
  { name: 'flag', type: 'boolean' },
  { name: 'day', type: 'date', values: ['2026-01-05', '1999-12-31'] },
  { name: 'seen', type: 'datetime', values: ['2026-01-05T10:00:00Z'] },
  { name: 'key', type: 'uuid' },
  { name: 'data', type: 'json', values: [{ k: [1, 2] }, 'text'] },
  { name: 'loose', type: 'string', values: ['10', 'x'] },
];
const TYPES = `id integer primary key, qty int, big bigint, price numeric, score real, name text, note text collate nocase, flag boolean, day date,
  seen datetime, key uuid, data json, loose`;
const SCRIPT = `create table sample (${TYPES}); create table target (${TYPES.replace(' primary key', '')});
  insert into sample values
    (1, 2, 10, 2.5, 0.1, 'ann', 'Ann', 1, '2026-01-05', '2026-01-05T10:00:00Z', '2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d', '{"k":[1,2]}', 10),
    (2, 9, 9, 19.99, 2.5, '2.5', 'bob', 0, '1999-12-31', '1999-12-31 23:59:59', '00000000-0000-0000-0000-000000000000', '[1,"x",null]', '10'),
    (3, null, 9007199254740993, null, null, '', null, null, null, null, null, '"text"', null),
    (4, 2147483647, -1, 7, 7.0, 'O''Brien', 'ÜNÏ', 1, '2026-01-05', '2026-01-05T12:00:00+02:00', null, '5', 2.5)`;

const TEMPLATES: OracleDialect['templates'] = {
  p: [
    '$c is {c}',
    '$c is not {c}',
    '$c glob {string}',
    'seen >= {datetime}',
    'datetime(seen) >= datetime({datetime})',
    'date(day) < date({date})',
    'json_extract(data, {string}) is null',
    '{string} in (select value from json_each(data))',
    'typeof({any}) = {string}',
    'instr(name, {string}) > {integer}',
  ],
  e: [
    '{string} || $c',
    '{any} || {any}',
    'typeof({any})',
    'cast({any} as text)',
    'cast({any} as integer)',
    'cast({any} as real)',
    'max({integer}, {number})',
    'min({string}, {integer})',
    'round({number}, {small})',
    'substr(name, {small}, {small})',
    '{integer} % {integer}',
    '{integer} & {integer}',
    'iif({boolean}, {string}, name)',
    'ifnull({integer}, qty)',
    "json_object('k', {any}, 'l', {any})",
    'json_array({any}, {any})',
    "json_extract({json}, '$.k')",
    "json_set(data, '$.n', {json})",
    'data ->> {string}',
    'data -> {integer}',
    "strftime('%Y', {datetime})",
    "date({date}, '+1 day')",
    'julianday({datetime}) - julianday({datetime})',
    'unixepoch({datetime})',
    "printf('%s', {any})",
    'quote({any})',
    'length({string})',
    '{number} / {integer}',
    'coalesce(loose, {any})',
    'loose < {any}',
    'loose = {any}',
  ],
  a: ['count(*) filter (where $c = {c})', 'group_concat(name, {string})', 'total({number})', 'json_group_array({any})'],
};

function literal(scalar: string, value: Json): string {
  if (value === null) return 'null';
  if (scalar === 'json') return `json(${quoted(JSON.stringify(value))})`;
  if (scalar === 'boolean') return value === true ? '1' : '0';
  if (scalar === 'datetime') return quoted(isoDatetime(plainText(value)));
  if (scalar === 'number') return isExact(value) ? `(${decimal(value)})` : 'too_exact()';
  // The least one is no literal of SQLite.
  if (scalar === 'integer') return value === '-9223372036854775808' ? '(-9223372036854775807 - 1)' : `(${plainText(value)})`;
  return quoted(plainText(value));
}

const literals = (type: BoundType, value: Json): readonly string[] => [
  typeof type === 'string'
    ? literal(type, value)
    : listIn(value, '(select null where false)', (item) => literal(scalarOf(type), item)),
];

const DIALECT: OracleDialect = {
  db_type: 'sqlite',
  writes: true,
  columns: COLUMNS,
  templates: TEMPLATES,
  literals,
  list: (list, negated) => `${negated ? 'not in' : 'in'} ${list}`,
  faults: [/more digits than a double keeps/],
  refusals: [],
};

async function open(): Promise<OracleDatabase> {
  const files = createSqliteFolder();
  files.create('oracle.sqlite', SCRIPT);
  // It writes to a copy of its own.
  const driver = new DatabaseSync(':memory:');
  driver.exec(SCRIPT);
  return {
    source: files.open('oracle.sqlite'),
    async ask(text): Promise<Answer> {
      driver.exec('begin');
      let is_read = false;
      try {
        const statement = driver.prepare(withoutLimits(text, '-1'));
        is_read = true;
        statement.setReadBigInts(true);
        statement.setReturnArrays(true);
        const encoders = statement.columns().map(({ type }) => columnRule(type).encode);
        const rows = statement.all() as unknown as SqliteValue[][];
        return { rows: rows.map((row) => row.map((cell, i) => JSON.parse(encoders[i]!(cell)) as Json)) };
      } catch (error) {
        return { fault: String(error), of_types: !is_read && !text.includes('too_exact()') };
      } finally {
        driver.exec('rollback');
      }
    },
    async close() {
      driver.close();
      await files.remove();
    },
  };
}

runOracle({ dialect: DIALECT, up: true, open });
