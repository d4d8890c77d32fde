import postgres from 'postgres';
import { openPostgres } from '#core/engines/postgresql/source.ts';
import { TYPES } from '#core/engines/postgresql/types.ts';
import type { BoundType, Json } from '#core/engines/shared/source.ts';
import { localPolicy, reachable, testDatabase } from '#test/support/databases.ts';
import type { OracleColumn } from '../oracle/grammar.ts';
import type { Answer, OracleDatabase, OracleDialect } from '../oracle/oracle.ts';
import { runOracle } from '../oracle/suite.ts';

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

const TEMPLATES: OracleDialect['templates'] = {
  p: [
    '$c {in c} or $c is null',
    'name ilike {string}',
    '$c:string ~ {c}',
    '$c is distinct from {c}',
    '(id, $c) = ({integer}, {c})',
    '($c, $d) > ({c}, {d})',
    'data @> {json}',
    'data ? {string}',
    'data ->> {string} = {string}',
    'data -> {integer} = {json}',
    'data #>> array[{string}, {string}] is null',
    'tags && {tags}',
    'tags @> array[{string}]',
    '{string} = any(tags)',
    '{integer} = any(nums)',
    'nums[{small}] = {integer}',
    'lot @> {integer}',
    'address <<= {address}',
    '(day, day) overlaps ({date}, {date})',
    `day between {date} and {date}::date + 3`,
    'extract(year from day) = {integer}',
    `at >= {datetime} - interval '1 day'`,
    `date_trunc({string}, at) = {datetime}`,
    'pick({integer}) = {string}',
    '$c between symmetric {c} and {c}',
    'name similar to {string}',
    '(id, $c) in (({integer}, {c}), ({integer}, {c}))',
    'id = any(array[{integer}, {integer}])',
    '$c in (select s.$c from sample s where s.$d = {d} union select {c})',
    '$c in (values ({c}), ({c}))',
    'int4range({integer}, {integer}) @> qty',
    'int8range({integer}, {integer}) && int8range({integer}, null)',
    'daterange({date}, {date}) @> day',
    'tstzrange({datetime}, {datetime}) @> at',
    'numrange({number}, null) @> price',
    '(at, at) overlaps ({datetime}, {datetime})',
    'day = {date}::date',
    'at::date = {date}',
    'at between {date} and {date}',
    'name < any({tags})',
    'nums <@ {nums}',
    'price = any({in price})'.replace('{in price}', '{price}'),
    'coalesce({boolean}, flag, {boolean})',
    '{boolean} is distinct from flag',
    'lasts > {lasts}',
    `now() - {lasts} < now() + {lasts}`,
    `day + {lasts} > {datetime}`,
    'regexp_replace(name, {string}, {string}) = {string}',
    'name = upper({string})',
    'exists (select 1 from generate_series({small}, {small}) as g where g = sample.id)',
    'exists (select 1 from jsonb_array_elements({json}) as j where j = data)',
    'data = {json}',
    `data ->> 'k' = {json}::text`,
    `(data ->> 'n')::int = {integer}`,
    `(data ->> 'n')::numeric >= {number}`,
    'mood::text = {string}',
    'mood in ({mood}, {mood})',
    'key::text = {uuid}::text',
    'num_nulls({any}, {any}) = {integer}',
    'starts_with(name, {string})',
  ],
  e: [
    'greatest({integer}, {integer})',
    'least({number}, {integer})',
    'greatest($c, {c})',
    '{string} || $c:string',
    '{string} || {string}',
    '{string} || {integer}',
    'concat({any}, {any}, $c)',
    `concat_ws({string}, {any}, {any})`,
    `format('%s-%s', {any}, {any})`,
    '{any}::text',
    '{any}::int',
    '{any}::date',
    '{any}::numeric',
    '{any}::jsonb',
    'cast({any} as boolean)',
    'cast({number} as int)',
    'round({number}, {small})',
    'round(price * {number}, {small})',
    'mod({integer}, {integer})',
    'trunc({number}, {small})',
    'div({number}, {integer})',
    'gcd({integer}, {integer})',
    'width_bucket({number}, {number}, 100000, {small} + 1)',
    'log({number})',
    'sign({number})',
    'ceil({number})',
    'floor(score + {number})',
    'ratio * {ratio}',
    'score / {score}',
    'price % {price}',
    'small + {small}',
    'big & {integer}',
    'id << {small}',
    'chr({small} + 65)',
    'string_to_array({string}, {string})',
    'array_to_string({tags}, {string})',
    'array_fill({integer}, array[{small}])',
    'array_cat(nums, {nums})',
    'array_remove(tags, {string})',
    'nums[{small} : {small}]',
    'unnest(array[{string}, {string}])',
    'date_part({string}, day)',
    `to_date({string}, 'YYYY-MM-DD')`,
    'to_timestamp({integer})',
    `timezone({string}, {datetime})`,
    `date_bin('1 hour', {datetime}, {datetime})`,
    `interval '1 hour' * {number}`,
    `interval '1 day' * {integer}`,
    `{small} * interval '1 day' + day`,
    'lasts + {lasts}',
    'day + {clock}::time',
    'clock + {lasts}',
    'at - {lasts}',
    'at - {at}',
    'plain - {plain}',
    'extract({x} from day)'.replace('{x}', 'dow') + ' + {integer}',
    'encode(convert_to({string}, {string}), {string})',
    'md5({string})',
    'quote_literal({any})',
    'coalesce({any}, {any})',
    'coalesce($c, {c}, {c})',
    'greatest({any}, {any})',
    'nullif({any}, {any})',
    '{any} = {any}',
    '{any} || {any}',
    '{any} + {any}',
    '{any} - {any}',
    '{any} * {any}',
    'int4range({integer}, {integer})',
    'daterange({date}, {date})',
    `jsonb_path_query_first(data, '$', {json})`,
    'jsonb_extract_path(data, {string}, {string})',
    'jsonb_insert(data, array[{string}], {json})',
    'json_build_array({any})',
    'row_to_json(row({any}, {any}))',
    'data #> array[{string}, {string}]',
    'data #- array[{string}]',
    'jsonb_array_length({json})',
    'jsonb_typeof({json})',
    '{string}::jsonb -> {integer}',
    'case when {boolean} then {any} end',
    'case when flag then {integer} when {boolean} then {number} else qty end',
    'first_value($c) over (order by id rows {small} preceding)',
    'sum(qty) over (order by id range between {integer} preceding and current row)',
    'avg(price * {number}) over (partition by flag)',
    '(select string_agg(x, {string}) from unnest({tags}) as x)',
    '(select array_agg(x) from generate_series({integer}, {integer} + 2) as x where x < 1000)',
    '(select count(*) from generate_series({date}::timestamp, {date}::timestamp, {lasts}) as x)',
    '(select max(v) from (values ({integer}), ({integer})) as v(v))',
    '(select v from (values ({any})) as v(v))',
    `(with recursive r(n) as (select {small} union all select n + 1 from r where n < {small}) select count(*) from r)`,
    '{integer}::bigint::text',
    'cast({string} as mood)',
    'cast({string} as few)',
    'cast({integer} as few)',
    '({number}, {string})::text',
    '{integer} % {integer}',
    'power({number}, {small})',
    'sqrt(abs({number}))',
    'substring(name, {small}, {small})',
    'substring(name from {small} for {small})',
    'substr({string}, {small})',
    'left(name, {small})',
    'right({string}, {small})',
    'lpad(name, {small}, {string})',
    'repeat({string}, {small})',
    'length({string})',
    'position({string} in name)',
    'split_part(name, {string}, {small})',
    'trim({string})',
    'to_char({number}, {string})',
    `to_char({datetime}, 'YYYY-MM-DD HH24:MI:SS')`,
    'day + {small}',
    'day - {small}',
    'day - {date}',
    '{date} - {date}',
    '{date} + {small}',
    `{date} + interval '1 day'`,
    `{datetime} - interval '90 minutes'`,
    `{datetime} at time zone 'UTC'`,
    '{datetime} - {datetime}',
    `date_trunc('day', {datetime})`,
    `date_trunc('month', {date})`,
    'extract(year from {date})',
    'extract(epoch from {datetime})',
    'age({datetime}, {datetime})',
    'make_date(2026, {small} + 1, 1)',
    `make_interval(days => {small})`,
    'data -> {string}',
    'data ->> {string}',
    'data -> {small}',
    'data - {string}',
    `jsonb_build_object('k', {any}, 'l', {any})`,
    'jsonb_build_array({any}, {any})',
    'to_jsonb({any})',
    'to_json({integer})',
    '{json} || {json}',
    `jsonb_set(data, array['k'], {json})`,
    'array[{integer}, {integer}]',
    'array[{any}]',
    'array_append(nums, {integer})',
    'nums || {integer}',
    'tags || {string}',
    'array_position(tags, {string})',
    'array_length({tags}, 1)',
    'cardinality({nums})',
    'pick({integer})',
    'pick({string})',
    'shade({number})',
    'shade({date})',
    'shade({integer})',
    'pg_typeof({any})::text',
    '(select count(*) from generate_series({small}, {small}))',
    '(select sum(x) from unnest({nums}) as x)',
    'nullif({any}, null)',
    'row({integer}, {string})::text',
    '{boolean} and flag',
    'ntile({small} + 1) over (order by id)',
    'nth_value(name, {small} + 1) over (order by id)',
    'lag($c, {small}, {c}) over (order by id)',
  ],
  a: [
    'count(*) filter (where $c = {c})',
    'sum(qty) filter (where id > {integer})',
    `string_agg(name, {string} order by id)`,
    'array_agg($c:number|date|datetime|boolean|uuid order by id) filter (where id <= {integer})',
    'jsonb_agg({any} order by id)',
    'mode() within group (order by $c = {c})',
    'regr_slope({number}, qty)',
    'sum(qty) filter (where $c = any(array[{c}, {c}]))',
    'grouping(id) + {integer}',
    'jsonb_object_agg(id, {integer})',
    'bool_or({boolean})',
    'percentile_disc({number}) within group (order by id)',
    'max({datetime})',
    'sum({integer} * qty)',
    'avg({number})',
  ],
};

const STATEMENTS: readonly string[] = [
  'select id, %e as v from sample order by id limit {small} + 1 offset ({small})',
  'select id from sample order by id fetch first ({small}) rows only',
  'select distinct on (coalesce($c, {c!})) id from sample order by coalesce($c, {c!}), id',
  'select id, x.v from sample cross join lateral (select %e as v) as x where %p order by id',
  'select g, %e as v from sample, generate_series({small}, {small}) as g where %p order by id, g',
  'select date_trunc({string!}, at) as k, count(*) as n from sample group by date_trunc({string!}, at) order by 1',
  'select flag, $c:integer + {c!} as k, count(*) as n from sample group by grouping sets ((flag), ($c + {c!})) order by 1, 2',
  'values ({any}, {integer}), ({any}, {integer})',
  'insert into target as t (id, $c) values ({small}, {c}) on conflict do nothing returning id, $c, {any} as w',
  'insert into target (id, $c, $d) select {small}, x.v, {d} from (select {c} as v) as x returning id, $c, $d',
  'update sample set ($c, $d) = ({c}, {d}) where id in ({small}, {small}) returning id, $c, $d',
  'update sample as s set $c = x.v from (values (1, {c}), (2, {c})) as x(id, v) where s.id = x.id returning s.id, s.$c',
  'update sample set $c = case when {boolean} then {c} else $c end returning id, $c',
  'with gone as (delete from sample where $c = {c} returning id, $d) select id, $d from gone where $d <> {d} order by id',
  'merge into target using sample on target.id = {integer} when not matched then insert (id, $c) values (sample.id, {c})',
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
