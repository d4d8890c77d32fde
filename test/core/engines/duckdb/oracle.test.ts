import { DuckDBInstance, DuckDBTimestampTZValue } from '@duckdb/node-api';
import { join } from 'node:path';
import { encoderOf } from '#core/engines/duckdb/values.ts';
import type { BoundType, Json } from '#core/lib/sql/result.ts';
import { utcDatetime } from '#core/lib/text/datetimes.ts';
import type { OracleColumn } from '../oracle/grammar.ts';
import { decimal, isExact, plainText, quoted } from '../oracle/literals.ts';
import type { Answer, OracleDatabase, OracleDialect } from '../oracle/oracle.ts';
import { runOracle } from '../oracle/suite.ts';
import { createDuckdbFolder } from './fixture.ts';

const TYPES = `id int, small smallint, qty int, big bigint, price decimal(10,2), ratio real, score double, name varchar, mood mood, flag boolean,
  day date, seen timestamptz, wall timestamp, clock time, key uuid, data json, tags varchar[], nums int[]`;
const SCRIPT = `create type mood as enum ('sad', 'fine'); create table sample (${TYPES}); create table target (${TYPES});
  insert into sample values
    (1, 1, 2, 10, 2.50, 0.1, 0.1, 'ann', 'fine', true, '2026-01-05', '2026-01-05 10:00:00+00', '2026-01-05 10:00:00', '10:00:00',
      '2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d', '{"k": [1, 2]}', ['x', 'y'], [1, 2]),
    (2, -3, 9, 9, 19.99, 2.5, 2.5, '2.5', 'sad', false, '2026-02-28', '1999-12-31 23:59:59+00', '2026-01-05 00:00:00', '23:59:59',
      '00000000-0000-0000-0000-000000000000', '[1, "x", null]', [], [9]),
    (3, null, null, 9007199254740993, null, null, 'infinity', '', null, null, 'infinity', null, null, null, null, '"text"', null, null),
    (4, 32767, 2147483647, -1, 7, 0.5, 1e21, 'O''Brien', 'fine', true, '1999-12-31', 'infinity', '1999-12-31 23:59:59', '00:00:00', null, 'null',
      ['NULL', null, 'a,b'], [null, 3])`;
const COLUMNS: readonly OracleColumn[] = [
  { name: 'small', type: 'integer', values: [1, -3, 32_767] },
  { name: 'qty', type: 'integer', values: [2, 9, 2_147_483_647] },
  { name: 'big', type: 'integer', values: [10, '9007199254740993', -1] },
  { name: 'price', type: 'number', values: [2.5, 19.99, 7] },
  { name: 'ratio', type: 'number', values: [0.1, 2.5, 0.5] },
  { name: 'score', type: 'number', values: [0.1, 2.5, 1e21] },
  { name: 'name', type: 'string', values: ['ann', '2.5', '', "O'Brien"] },
  { name: 'mood', type: 'string', values: ['fine', 'sad'] },
  { name: 'flag', type: 'boolean' },
  { name: 'day', type: 'date', values: ['2026-01-05', '2026-02-28', '1999-12-31'] },
  { name: 'seen', type: 'datetime', values: ['2026-01-05T10:00:00Z', '1999-12-31T15:59:59-08:00'] },
  { name: 'wall', type: 'datetime', values: ['2026-01-05T12:00:00+02:00', '2026-01-05T00:00:00Z'] },
  { name: 'key', type: 'uuid' },
  { name: 'data', type: 'json', values: [{ k: [1, 2] }, [1, 'x', null], 'text'] },
  { name: 'tags', type: { array: 'string' } },
  { name: 'nums', type: { array: 'integer' } },
];
const TEMPLATES: OracleDialect['templates'] = {
  p: [
    '$c is distinct from {c}',
    'name ilike {string}',
    'regexp_matches(name, {string})',
    '{string} = any(tags)',
    '{integer} = any(nums)',
    'list_contains(nums, {integer})',
    'day between {date} and {date}',
    'year(day) = {integer}',
    "seen >= {datetime} - interval '1 day'",
    'starts_with(name, {string})',
    'date_trunc({string}, wall) = {datetime}',
  ],
  e: [
    'greatest({integer}, {integer})',
    'least({number}, {integer})',
    '{string} || $c:string',
    "'n' || {integer}",
    '7 / {integer}',
    '{integer} // {integer}',
    '{integer} % {integer}',
    'concat({any}, {any}, $c)',
    'cast({any} as varchar)',
    'try_cast({any} as integer)',
    'try_cast({any} as date)',
    'round({number}, {small})',
    'round(price, {small})',
    'substr(name, {small}, {small})',
    'left(name, {small})',
    "lpad(name, {small}, '*')",
    'repeat({string}, {small})',
    'length({string})',
    'split_part(name, {string}, {small})',
    'year({date})',
    'day + {small}',
    'day - {date}',
    '{date} + {small}',
    "{date} + interval '1 day'",
    "{datetime} - interval '90 minutes'",
    'date_diff({string}, {date}, {date})',
    "date_trunc('month', {date})",
    "strftime({datetime}, '%Y-%m-%d')",
    'epoch({datetime})',
    'json_extract(data, {string})',
    "json_object('k', {any})",
    'to_json({any})',
    '[{integer}, {integer}]',
    'list_append(nums, {integer})',
    "{'a': {any}}",
    '(select count(*) from range({small}))',
    '(select sum(x) from unnest({nums}) as u(x))',
    'typeof({any})',
    'if({boolean}, {integer}, {number})',
    'nullif({any}, null)',
    'ntile({small} + 1) over (order by id)',
    'lag($c, {small}, {c}) over (order by id)',
  ],
  a: [
    'count(*) filter (where $c = {c})',
    'string_agg(name, {string} order by id)',
    'list($c order by id)',
    'avg({number})',
    'max({datetime})',
    'bool_or({boolean})',
  ],
};

const NAMES: Readonly<Record<string, readonly string[]>> = {
  string: ['varchar'],
  integer: ['bigint', 'integer'],
  number: ['double'],
  boolean: ['boolean'],
  date: ['date'],
  datetime: ['timestamptz'],
  uuid: ['uuid'],
  json: ['json'],
};

function written(scalar: string, value: Json): string {
  if (value === null) return 'null';
  if (scalar === 'json') return quoted(JSON.stringify(value));
  if (scalar === 'boolean') return plainText(value);
  if (scalar === 'number') return isExact(value) ? decimal(value) : 'too_exact()';
  if (scalar === 'integer') return plainText(value);
  return quoted(scalar === 'datetime' ? utcDatetime(plainText(value)) : plainText(value));
}

/** Columns as which a value is read although its own type would be read as well. */
const READ_AS_COLUMN: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  number: { ratio: 'real' },
  datetime: { day: 'date', wall: 'timestamp' },
};

function literals(type: BoundType, value: Json, column: OracleColumn | null): readonly string[] {
  const scalar = typeof type === 'string' ? type : type.array;
  const suffix = typeof type === 'string' ? '' : '[]';
  const text =
    suffix !== '' && Array.isArray(value)
      ? `[${value.map((item: Json) => written(scalar, item)).join(', ')}]`
      : written(scalar, value);
  const typed = (NAMES[scalar] ?? []).map((name) => `cast(${text} as ${name}${suffix})`);
  const of_column = column === null ? undefined : READ_AS_COLUMN[scalar]?.[column.name];
  if (of_column !== undefined) return [`cast(${text} as ${of_column}${suffix})`, ...typed];
  return scalar === 'string' && suffix === '' ? [text, ...typed] : [...typed, text];
}

const DIALECT: OracleDialect = {
  db_type: 'duckdb',
  writes: false,
  columns: COLUMNS,
  templates: TEMPLATES,
  literals,
  list: (literal, negated) => (negated ? `<> all(${literal})` : `= any(${literal})`),
  reads_either: true,
  faults: [/more digits than a double keeps/, /^Malformed JSON/],
  refusals: [
    /^DuckDB cannot tell the columns of this statement/,
    /^No function matches /,
    /^Cannot (?:mix|compare) values /,
    /explicit cast/,
    /explicit type casts/,
  ],
};

async function open(): Promise<OracleDatabase> {
  const files = createDuckdbFolder();
  await files.create('oracle.duckdb', SCRIPT);
  await files.create('plain.duckdb', SCRIPT);
  DuckDBTimestampTZValue.timezoneOffsetInMinutes = 0;
  const instance = await DuckDBInstance.create(join(files.folder, 'plain.duckdb'), { access_mode: 'READ_ONLY' });
  const driver = await instance.connect();
  await driver.run("set TimeZone = 'UTC'");
  return {
    source: files.open('oracle.duckdb'),
    async ask(text): Promise<Answer> {
      try {
        const reader = await driver.runAndReadAll(text);
        const encoders = reader.columnTypes().map(encoderOf);
        return { rows: reader.getRows().map((row) => row.map((cell, i) => JSON.parse(encoders[i]!(cell)) as Json)) };
      } catch (error) {
        const fault = String(error);
        return { fault, of_types: /Binder Error|Catalog Error|Parser Error/.test(fault) && !text.includes('too_exact()') };
      }
    },
    async close() {
      driver.closeSync();
      instance.closeSync();
      await files.remove();
    },
  };
}

runOracle({ dialect: DIALECT, up: true, open });
