import postgres from 'postgres';
import { openPostgres } from '#core/engines/postgresql/source.ts';
import { TYPES } from '#core/engines/postgresql/parameters/types.ts';
import type { BoundType, Json } from '#core/lib/sql/result.ts';
import { localPolicy, reachable, testDatabase } from '#test/support/databases.ts';
import type { OracleColumn } from '../oracle/grammar.ts';
import type { Answer, OracleDatabase, OracleDialect } from '../oracle/oracle.ts';
import { runOracle } from '../oracle/suite.ts';
import { STATEMENTS, TEMPLATES } from './oracle-templates.ts';

const MADE = 'id int, small smallint, qty int, big bigint, price numeric(10,2), ratio real, score double precision, name text,';
const MORE = `code varchar(12), fixed char(6), note citext, mood mood, flag boolean, day date, at timestamptz, plain timestamp, clock time,
  lasts interval, key uuid, data jsonb, address inet, tags text[], nums int[], lot int4range, few few`;
const SCRIPT: readonly string[] = [
  'create extension if not exists citext',
  `create type mood as enum ('sad', 'fine')`,
  'create domain few as int check (value < 100)',
  `create function pick(int) returns text language sql immutable as 'select ''int'''`,
  `create function pick(text) returns text language sql immutable as 'select ''text'''`,
  `create function shade(numeric) returns text language sql immutable as 'select ''numeric'''`,
  `create function shade(date) returns text language sql immutable as 'select ''date'''`,
  ...['sample', 'target'].map((table) => `create table ${table} (${MADE} ${MORE})`),
  `insert into sample values
    (1, 1, 2, 10, 2.50, 0.1, 0.1, 'ann', 'ab', 'ab', 'Ann', 'fine', true, '2026-01-05', '2026-01-05T10:00Z', '2026-01-05T10:00',
      '10:00', '1 day', '2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d', '{"k": [1, 2]}', '10.0.0.1', '{x,y}', '{1,2}', '[1,5)', 5),
    (2, -3, 9, 9, 19.99, 2.5, 2.5, '2.5', '10', '9', 'bob', 'sad', false, '2026-02-28', '1999-12-31T23:59:59Z', '2026-01-05',
      '23:59:59.5', '01:30:00', '00000000-0000-0000-0000-000000000000', '[1, "x", null]', '10.0.0.0/8', '{}', '{9}', 'empty', 9),
    (3, null, null, 9007199254740993, null, null, 'Infinity', '', '', null, null, null, null, null, null, null, null, null, null, '"text"', null, null, null, null, null),
    (4, 32767, 2147483647, -1, 7, 0.5, 1e21, 'O''Brien', 'a%', '2.5', 'ÜNÏ', 'fine', true, '1999-12-31', 'infinity', '1999-12-31T23:59:59',
      '00:00', '-1 mon', null, 'null', '::1', array['NULL', null, 'a,b'], '{null,3}', '[3,)', 0)`,
];

const COLUMNS: readonly OracleColumn[] = [
  { name: 'small', type: 'integer', values: [1, -3, 32_767] },
  { name: 'qty', type: 'integer', values: [2, 9, 2_147_483_647] },
  { name: 'big', type: 'integer', values: [10, 9, '9007199254740993', -1] },
  { name: 'price', type: 'number', values: [2.5, 19.99, 7] },
  { name: 'ratio', type: 'number', values: [0.1, 2.5, 0.5] },
  { name: 'score', type: 'number', values: [0.1, 2.5, 1e21] },
  { name: 'name', type: 'string', values: ['ann', '2.5', '', "O'Brien"] },
  { name: 'code', type: 'string', values: ['ab', '10', '', 'a%'] },
  { name: 'fixed', type: 'string', values: ['ab', 'ab    ', '9', '2.5'] },
  { name: 'note', type: 'string', values: ['ANN', 'bob'] },
  { name: 'mood', type: 'string', values: ['fine', 'sad'] },
  { name: 'flag', type: 'boolean' },
  { name: 'day', type: 'date', values: ['2026-01-05', '2026-02-28', '1999-12-31'] },
  { name: 'at', type: 'datetime', values: ['2026-01-05T10:00:00Z', '1999-12-31T15:59:59-08:00'] },
  { name: 'plain', type: 'datetime', values: ['2026-01-05T12:00:00+02:00', '2026-01-05T00:00:00Z'] },
  { name: 'clock', type: 'string', values: ['10:00', '23:59:59.5'] },
  { name: 'lasts', type: 'string', values: ['24 hours', '90 min', '-1 mon'] },
  { name: 'key', type: 'uuid' },
  { name: 'data', type: 'json', values: [{ k: [1, 2] }, [1, 'x', null], 'text'] },
  { name: 'address', type: 'string', values: ['10.0.0.1', '::1'] },
  { name: 'tags', type: { array: 'string' } },
  { name: 'nums', type: { array: 'integer' } },
  { name: 'lot', type: 'string', values: ['[1,4]', 'empty'] },
  { name: 'few', type: 'integer', values: [5, 9, 0] },
];

/** Types of literals, the best first. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  string: ['text'],
  integer: ['bigint', 'int'],
  number: ['numeric'],
  boolean: ['boolean'],
  date: ['date'],
  datetime: ['timestamptz'],
  uuid: ['uuid'],
  json: ['jsonb'],
};
const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;
const written = (value: Json, scalar: string): string =>
  typeof value === 'string' && scalar !== 'json' ? value : typeof value === 'number' ? digits(value) : JSON.stringify(value);
/** Without an exponent. */
const digits = (value: number): string =>
  value.toLocaleString('en-US', { useGrouping: false, maximumSignificantDigits: 17, minimumFractionDigits: 0 });
const element = (value: Json, scalar: string): string =>
  value === null ? 'NULL' : `"${written(value, scalar).replace(/["\\]/g, '\\$&')}"`;

/** Columns as which a value is read although its own type would be read as well. */
const READ_AS_COLUMN: Readonly<Record<string, readonly string[]>> = {
  number: ['ratio'],
  datetime: ['day', 'plain'],
};

function literals(type: BoundType, value: Json, column: OracleColumn | null): readonly string[] {
  const scalar = typeof type === 'string' ? type : type.array;
  const suffix = typeof type === 'string' ? '' : '[]';
  const text = (of: Json): string => {
    if (of === null) return 'null';
    const is_list = Array.isArray(of) && suffix !== '';
    return quoted(is_list ? `{${of.map((item: Json) => element(item, scalar)).join(',')}}` : written(of, scalar));
  };
  const typed = (NAMES[scalar] ?? []).map((name) => `cast(${text(value)} as ${name}${suffix})`);
  const of_column = scalar === 'string' || (column !== null && READ_AS_COLUMN[scalar]?.includes(column.name) === true);
  // A moment is one in UTC for what has no zone, as its cast is.
  const untyped = text(scalar === 'datetime' && UNZONED.has(column?.name ?? '') ? inUtc(value) : value);
  return of_column ? [untyped, ...typed] : [...typed, untyped];
}

/** Types of users count as types without a zone. */
const UNZONED: ReadonlySet<string> = new Set(['day', 'plain', 'note', 'mood', 'few']);
const inUtc = (moment: Json): Json => {
  if (Array.isArray(moment)) return moment.map(inUtc);
  if (typeof moment !== 'string') return moment;
  const fraction = /\.\d+/.exec(moment)?.[0] ?? '';
  return new Date(moment.replace(/\.\d+/, '')).toISOString().replace('.000Z', `${fraction}Z`);
};

/** SQLSTATEs of a statement that is not read, whatever its values are. */
const OF_TYPES = /^42|^0A/;

const DIALECT: OracleDialect = {
  db_type: 'postgresql',
  writes: true,
  columns: COLUMNS,
  templates: TEMPLATES,
  statements: STATEMENTS,
  literals,
  list: (literal, negated) => (negated ? `<> all(${literal})` : `= any(${literal})`),
  refusals: [/ but the database takes it as /, /^The database cannot tell which type /, /^With and without its optional blocks /],
};

async function open(): Promise<OracleDatabase> {
  const own = await testDatabase('postgresql');
  for (const text of SCRIPT) await own.run(text);
  const { settings } = own;
  const { host, port, username, database } = settings;
  const raw = { to: 25, from: [...TYPES.keys()], serialize: String, parse: (text: string) => text };
  const driver = postgres({
    host: host ?? '',
    port: port ?? 5432,
    username: username ?? '',
    database,
    max: 4,
    onnotice: () => {},
    fetch_types: false,
    types: { raw },
    connection: { TimeZone: 'UTC', extra_float_digits: '3' },
  });
  const source = openPostgres(settings, localPolicy);
  return {
    source,
    async ask(text): Promise<Answer> {
      let answer: Answer | null = null;
      const undone = new Error('The statement is rolled back.');
      try {
        await driver.begin(async (sql) => {
          const rows = await sql.unsafe<Record<string, string | null>[]>(text).values();
          answer = { rows: rows.map((row) => [...row].map((cell, i) => parsed(rows.columns[i]?.type ?? 0, cell))) };
          throw undone;
        });
      } catch (error) {
        if (error instanceof postgres.PostgresError) return { fault: error.message, of_types: OF_TYPES.test(error.code) };
        if (error !== undone) throw error;
      }
      return answer ?? { fault: 'nothing was answered', of_types: false };
    },
    async close() {
      await source.close();
      await driver.end();
      await own.drop();
    },
  };
}

/** As a result of the product holds it. */
function parsed(oid: number, cell: unknown): Json {
  if (typeof cell !== 'string') return null;
  const parse = TYPES.get(oid)?.parse;
  return parse === undefined ? cell : parse(cell);
}

runOracle({ dialect: DIALECT, up: reachable.postgres, open });
