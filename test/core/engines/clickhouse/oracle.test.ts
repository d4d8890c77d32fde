import { openClickhouse } from '#core/engines/clickhouse/source.ts';
import type { BoundType, Json } from '#core/lib/sql/result.ts';
import { AppError } from '#core/errors.ts';
import { atOffset, parseDatetime } from '#core/lib/text/datetimes.ts';
import { hasChdb, startChdb } from '#test/support/chdb.ts';
import { localPolicy } from '#test/support/databases.ts';
import type { OracleColumn } from '../oracle/grammar.ts';
import { isExact, plainText } from '../oracle/literals.ts';
import type { Answer, OracleDatabase, OracleDialect } from '../oracle/oracle.ts';
import { runOracle } from '../oracle/suite.ts';
import { READ, sql } from '../shared/suite.ts';
import { SETTINGS } from './fixture.ts';

const SCRIPT: readonly string[] = [
  `create table sample (id Int32, small Nullable(Int16), qty Nullable(Int32), big Nullable(Int64), price Nullable(Decimal(10, 2)), ratio Nullable(Float32),
    score Nullable(Float64), name String, kind LowCardinality(String), mood Enum8('sad' = 1, 'fine' = 2), flag Nullable(Bool), day Nullable(Date),
    seen Nullable(DateTime64(3, 'UTC')), wall DateTime('UTC'), key UUID, data String, tags Array(String), nums Array(Int32)) engine = Memory`,
  `insert into sample values
    (1, 1, 2, 10, 2.50, 0.1, 0.1, 'ann', 'a', 'fine', true, '2026-01-05', '2026-01-05 10:00:00', '2026-01-05 10:00:00',
      '2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d', '{"k": [1, 2]}', ['x', 'y'], [1, 2]),
    (2, -3, 9, 9, 19.99, 2.5, 2.5, '2.5', 'b', 'sad', false, '2026-02-28', '1999-12-31 23:59:59', '2026-01-05 00:00:00',
      '00000000-0000-0000-0000-000000000000', '[1, "x", null]', [], [9]),
    (3, null, null, 9007199254740993, null, null, null, '', '', 'sad', null, null, null, '1999-12-31 23:59:59',
      '00000000-0000-0000-0000-000000000000', '"text"', ['a,b'], []),
    (4, 32767, 2147483647, -1, 7, 0.5, 1e21, 'O''Brien', 'a', 'fine', true, '1999-12-31', '2026-01-05 10:00:00.5', '1999-12-31 23:59:59',
      '00000000-0000-0000-0000-000000000000', 'null', [], [3])`,
];
const COLUMNS: readonly OracleColumn[] = [
  { name: 'small', type: 'integer', values: [1, -3, 32_767] },
  { name: 'qty', type: 'integer', values: [2, 9, 2_147_483_647] },
  { name: 'big', type: 'integer', values: [10, '9007199254740993', -1] },
  { name: 'price', type: 'number', values: [2.5, 19.99, 7] },
  { name: 'ratio', type: 'number', values: [0.1, 2.5, 0.5] },
  { name: 'score', type: 'number', values: [0.1, 2.5, 1e21] },
  { name: 'name', type: 'string', values: ['ann', '2.5', '', "O'Brien"] },
  { name: 'kind', type: 'string', values: ['a', 'b'] },
  { name: 'mood', type: 'string', values: ['fine', 'sad'] },
  { name: 'flag', type: 'boolean' },
  { name: 'day', type: 'date', values: ['2026-01-05', '2026-02-28', '1999-12-31'] },
  { name: 'seen', type: 'datetime', values: ['2026-01-05T10:00:00Z', '1999-12-31T15:59:59-08:00'] },
  { name: 'wall', type: 'datetime', values: ['2026-01-05T12:00:00+02:00', '2026-01-05T00:00:00Z'] },
  { name: 'key', type: 'uuid' },
  { name: 'data', type: 'string', values: ['{"k": [1, 2]}', 'null'] },
];
const TEMPLATES: OracleDialect['templates'] = {
  p: [
    'match(name, {string})',
    'startsWith(name, {string})',
    'has(tags, {string})',
    'has(nums, {integer})',
    'toYear(day) = {integer}',
    'seen >= {datetime} - interval 1 day',
    'JSONExtractString(data, {string}) = {string}',
    'day between {date} and {date}',
  ],
  e: [
    'greatest({integer}, {integer})',
    'least({number}, {integer})',
    'concat({string}, name)',
    "'n' || toString({integer})",
    'toString({any})',
    'intDiv({integer}, {integer})',
    '{integer} % {integer}',
    'round({number}, {small})',
    'substring(name, {small} + 1, {small})',
    'leftPad(name, {small}, {string})',
    'length({string})',
    'if({boolean}, {integer}, {number})',
    'ifNull({integer}, qty)',
    'toDate({datetime})',
    '{date} + {small}',
    'addDays(day, {small})',
    "dateDiff('day', {date}, {date})",
    'toStartOfMonth({date})',
    "formatDateTime({datetime}, '%Y-%m-%d')",
    '[{integer}, {integer}]',
    'tuple({any}, {any})',
    'arrayElement(nums, {integer})',
    'toTypeName({any})',
    'nullIf({any}, null)',
    'multiIf({boolean}, {string}, $c = {c}, name, {string})',
  ],
  a: [
    'countIf($c = {c})',
    'sumIf(qty, id > {integer})',
    'groupArray({integer})',
    'avg({number})',
    'max({datetime})',
    'quantileExact(0.5)({integer})',
  ],
};

const NAMES: Readonly<Record<string, string>> = {
  string: 'String',
  integer: 'Int64',
  number: 'Float64',
  boolean: 'Bool',
  date: 'Date32',
  datetime: "DateTime64(6, \\'UTC\\')",
  uuid: 'UUID',
  json: 'String',
};
const written = (value: string): string => `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

/** What the product refuses when it is called has no literal here either. */
const REFUSED = 'refused_when_called()';

function literal(scalar: string, value: Json): string {
  if (value === null) return 'NULL';
  if (scalar === 'json') return written(JSON.stringify(value));
  if (scalar === 'boolean') return plainText(value);
  if (scalar === 'number') return isExact(value) ? written(plainText(value)) : REFUSED;
  if (scalar === 'date' && (plainText(value) < '1900' || plainText(value) > '2299-12-31')) return REFUSED;
  const moment = scalar === 'datetime' ? parseDatetime(plainText(value)) : null;
  if (moment === null) return written(plainText(value));
  const { date, time, fraction } = atOffset(moment, 0);
  return written(`${date} ${time}${fraction}`);
}

function literals(type: BoundType, value: Json): readonly string[] {
  if (typeof type === 'string') return [`CAST(${literal(type, value)}, 'Nullable(${NAMES[type]})')`];
  if (!Array.isArray(value)) return ['NULL'];
  return [`CAST([${value.map((item: Json) => literal(type.array, item)).join(', ')}], 'Array(Nullable(${NAMES[type.array]}))')`];
}

const DIALECT: OracleDialect = {
  db_type: 'clickhouse',
  writes: false,
  columns: COLUMNS,
  templates: TEMPLATES,
  literals,
  list: (list, negated) => {
    if (list === 'NULL') return '= NULL';
    if (list.startsWith('CAST([],')) return `IS NULL IN (${negated ? '0, 1' : '2'})`;
    return `${negated ? 'NOT IN' : 'IN'} ${list}`;
  },
  // A statement is described with nulls, so what no value of a type makes right fails when it is called.
  faults: [/./],
  // With rows that a condition leaves out anyway, the literals are never compared.
  refusals: [/^Illegal types of arguments/],
};

/** LIMIT takes no type that may be null. */
const withLimits = (statement: string): string =>
  statement
    .replaceAll(/\b(limit|offset) CAST\('(\d+)', '[^']*'\)/g, '$1 $2')
    .replaceAll(/\blimit CAST\(NULL, '[^']*'\)/g, 'limit 1000')
    .replaceAll(/\boffset CAST\(NULL, '[^']*'\)/g, 'offset 0');

async function open(): Promise<OracleDatabase> {
  const chdb = await startChdb();
  for (const statement of SCRIPT) await chdb.run(statement);
  const source = openClickhouse({ ...SETTINGS, port: 8123, database: 'default' }, { ...localPolicy, fetch: chdb.fetch });
  return {
    source,
    async ask(statement): Promise<Answer> {
      let is_read = false;
      try {
        const text = withLimits(statement);
        await source.describe(text, []);
        is_read = true;
        const { columns, rows } = await source.query(sql(text), { ...READ, max_rows: 100 });
        return { rows: rows.map((row) => columns.map(({ name }) => row[name] ?? null)) };
      } catch (error) {
        if (error instanceof AppError) return { fault: error.detail, of_types: !is_read && !statement.includes(REFUSED) };
        throw error;
      }
    },
    async close() {
      await source.close();
      await chdb.stop();
    },
  };
}

runOracle({ dialect: DIALECT, up: hasChdb, open });
