import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { openPostgres } from '#core/engines/postgresql/source.ts';
import type { BoundType, Json } from '#core/lib/sql/result.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { localPolicy, reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';
import { toolOn } from '../shared/tool-call.ts';
import { refusal } from '../shared/suite.ts';

const SCHEMA = [
  `create type mood as enum ('sad', 'fine')`,
  'create domain small as int check (value < 100)',
  `create function pick(int) returns text language sql immutable as 'select ''int'''`,
  `create function pick(text) returns text language sql immutable as 'select ''text'''`,
  `create table t (id int, big bigint, name text, fixed char(4), r real, f float8, n numeric(10,2), b boolean, due date, at timestamptz,
    plain timestamp, u uuid, data jsonb, doc json, feeling mood, address inet, lasts interval, tags text[], nums int[], lot int4range, s small)`,
  `insert into t values (1, 10, 'ann', 'ab', 0.1, 0.5, 2.50, true, '2026-01-05', '2026-01-05T10:00Z', '2026-01-05 10:00',
    '2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d', '{"k": [1, 2]}', '[1, 2]', 'fine', '10.0.0.1', '1 day', '{x,y}', '{1,2}', '[1,5)', 5),
    (9, 9, '2.5', 'cd', 2.5, 2.5, 7, false, '2026-02-05', '2026-02-05T10:00Z', '2026-02-05 10:00', null, '[1, 2]', '{}', 'sad', null, null, '{}', '{9}', null, 9)`,
];

type Declared = Readonly<Record<string, BoundType>>;
type Values = Readonly<Record<string, Json>>;
/** A statement with the type and value of each parameter, and what the literals of these types answer. */
type Case = readonly [sql: string, types: Declared, values: Values, answer: Json];
const INTEGERS = { a: 'integer', b: 'integer' } as const;

const CASES: readonly Case[] = [
  ['select :a < :b as x', INTEGERS, { a: 10, b: 9 }, false],
  ['select greatest(:a, :b) as x', INTEGERS, { a: 10, b: 9 }, 10],
  ['select max(v) as x from (values (:a), (:b)) as v(v)', INTEGERS, { a: 10, b: 9 }, 10],
  [`select data -> :a as x from t where id = 9`, INTEGERS, { a: 1 }, 2],
  [`select data - :a as x from t where id = 9`, INTEGERS, { a: 1 }, [1]],
  ['select doc -> :a as x from t where id = 1', INTEGERS, { a: 1 }, 2],
  ['select substring(name, :a, :b) as x from t where id = 1', INTEGERS, { a: 2, b: 1 }, 'n'],
  ['select pick(:a) as x', INTEGERS, { a: 1 }, 'int'],
  ['select pick(:a) as x', { a: 'string' }, { a: '1' }, 'text'],
  ['select case when id = 1 then :n else 0 end as x from t where id = 1', { n: 'number' }, { n: 2.5 }, '2.5'],
  ['select :n / id as x from t where id = 9', { n: 'number' }, { n: 4.5 }, '0.50000000000000000000'],
  ['select :n::int as x', { n: 'number' }, { n: 2.5 }, 3],
  ['select current_date + :a - current_date as x', INTEGERS, { a: 3 }, 3],
  ['select :d + :a as x', { d: 'date', a: 'integer' }, { d: '2026-01-05', a: 3 }, '2026-01-08'],
  [`select :d + interval '1 day' as x`, { d: 'date' }, { d: '2026-01-05' }, '2026-01-06T00:00:00'],
  ['select :d - :e as x', { d: 'date', e: 'date' }, { d: '2026-01-05', e: '2026-01-01' }, 4],
  [`select concat(:v, left(name, :a)) as x from t where id = 1`, { v: 'string', a: 'integer' }, { v: 'x', a: 2 }, 'xan'],
  [
    `select jsonb_build_object('k', :v) as x from t where feeling = :m`,
    { v: 'integer', m: 'string' },
    { v: 5, m: 'fine' },
    { k: 5 },
  ],
  [`select to_char(:n, '9.99') as x`, { n: 'number' }, { n: 2.5 }, ' 2.50'],
  ['select round(:n) as x', { n: 'number' }, { n: 2.5 }, '3'],
  ['select :b::int as x', { b: 'boolean' }, { b: true }, 1],
  ['select pg_typeof(:d)::text as x', { d: 'datetime' }, { d: '2026-01-05T10:00:00Z' }, 'timestamp with time zone'],
  ['select count(*)::int as x from generate_series(:a, :b)', INTEGERS, { a: 1, b: 9 }, 9],
  ['select nums || :a as x from t where id = 1', INTEGERS, { a: 3 }, [1, 2, 3]],
  ['select nums[:a] as x from t where id = 1', INTEGERS, { a: 2 }, 2],
  ['select id as x from t where lot @> :a', INTEGERS, { a: 3 }, 1],
  ['select id as x from t where r = :n', { n: 'number' }, { n: 0.1 }, 1],
  ['select id as x from t where name = :n', { n: 'number' }, { n: 2.5 }, 9],
  ['select id as x from t where big = :a', INTEGERS, { a: 9 }, 9],
  ['select id as x from t where id = :a', { a: 'integer' }, { a: 4_000_000_000 }, null],
  [
    `select count(*)::int as x, date_trunc(:u, at) from t group by date_trunc(:u, at) order by 2 limit 1`,
    { u: 'string' },
    { u: 'day' },
    1,
  ],
  [`select distinct on (name || :v) id as x from t order by name || :v limit 1`, { v: 'string' }, { v: 'z' }, 9],
  ['select id as x from t where id in (:ids) and nums && :ids', { ids: { array: 'integer' } }, { ids: [9] }, 9],
  [`select :v::text || :v as x`, { v: 'number' }, { v: 1e21 }, '1000000000000000000000'.repeat(2)],
  ['select id as x from t where s = :a', { a: 'integer' }, { a: 9 }, 9],
  ['select (:a + 1) * :a as x', INTEGERS, { a: 3_000_000_000 }, '9000000003000000000'],
  ['select id as x from t order by case :c when 1 then id else -id end limit 1', { c: 'integer' }, { c: 2 }, 9],
];

/** Columns of every kind with a value that finds the first row. */
const FILTERED: readonly (readonly [column: string, type: BoundType, value: Json])[] = [
  ['id', 'integer', 1],
  ['id', 'number', 1],
  ['big', 'integer', 10],
  ['name', 'string', 'ann'],
  ['fixed', 'string', 'ab'],
  ['r', 'number', 0.1],
  ['f', 'number', 0.5],
  ['n', 'number', 2.5],
  ['n', 'integer', 7],
  ['b', 'boolean', true],
  ['due', 'date', '2026-01-05'],
  ['at', 'datetime', '2026-01-05T12:00:00+02:00'],
  ['plain', 'datetime', '2026-01-05T12:00:00+02:00'],
  ['u', 'uuid', '2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d'],
  ['data', 'json', { k: [1, 2] }],
  ['feeling', 'string', 'fine'],
  ['address', 'string', '10.0.0.1'],
  ['lasts', 'string', '24:00:00'],
  ['tags', { array: 'string' }, ['x', 'y']],
  ['nums', { array: 'integer' }, [1, 2]],
  ['lot', 'string', '[1,4]'],
  ['s', 'integer', 5],
];

const REFUSED: readonly (readonly [sql: string, types: Declared, ...words: string[]])[] = [
  ['select id from t where due = :a', INTEGERS, ':a is declared as integer', 'takes it as date'],
  ['select id from t where b = :a', INTEGERS, 'takes it as boolean'],
  ['select id from t where name = :ids', { ids: { array: 'string' } }, 'array of string', '= any(:ids)'],
  ['select id from t where id = :d', { d: 'date' }, ':d is declared as date', 'takes it as integer'],
];

const typeOf = (type: BoundType) => (typeof type === 'string' ? { type } : { type: 'array' as const, items: type.array });

describe.skipIf(!reachable.postgres)('a parameter of PostgreSQL is its value cast to its declared type', () => {
  let database: TestDatabase;
  let source: Source;
  beforeAll(async () => {
    database = await testDatabase('postgresql');
    for (const text of SCHEMA) await database.run(text);
    source = openPostgres(database.settings, localPolicy);
  });
  afterAll(async () => {
    await source.close();
    await database.drop();
  });

  const tool = (sql: string, types: Declared, mode: 'read' | 'write' = 'read') =>
    toolOn(
      { source, db_type: 'postgresql' },
      sql,
      Object.entries(types).flatMap(([name, type]) =>
        sql.includes(`:${name}`) ? [{ name, description: '', required: false, ...typeOf(type) }] : [],
      ),
      { mode },
    );
  const rows = async (sql: string, types: Declared, values: Values) => {
    const made = await tool(sql, types);
    return (await made.call(values))['rows'] as { x: Json }[];
  };

  test.each(CASES)('%s %j', async (sql, types, values, answer) => {
    const [first] = await rows(sql, types, values);
    expect(first?.x ?? null).toEqual(answer);
  });

  test.each(FILTERED)('an optional filter of %s by %j', async (column, type, value) => {
    const sql = `select id as x from t where (:v is null or ${column} = :v) order by id`;
    const given = await rows(sql, { v: type }, { v: value });
    expect(given.map(({ x }) => x)).toEqual([column === 'n' && type === 'integer' ? 9 : 1]);
    expect(await rows(sql, { v: type }, {})).toHaveLength(2);
    const blocks = await rows(`select id as x from t where true [[and ${column} = :v]] order by id`, { v: type }, { v: value });
    expect(blocks).toEqual(given);
  });

  test('what is left out is no limit and no offset', async () => {
    expect(await rows('select id as x from t limit :a offset :b', INTEGERS, {})).toHaveLength(2);
    expect(await rows('select id as x from t order by id limit :a offset :b', INTEGERS, { a: 1, b: 1 })).toEqual([{ x: 9 }]);
  });

  test('a block that is left out does not change how the rest is read', async () => {
    const sql = 'select coalesce(:v [[, :w]] [[, n + :k]])::text as x from t limit 1';
    const types = { v: 'integer', w: 'number', k: 'integer' } as const;
    expect(await rows(sql, types, { v: 12 })).toEqual([{ x: '12' }]);
    expect(await rows(sql, types, { v: 12, w: 2.5 })).toEqual([{ x: '12' }]);
    expect(await rows(sql, types, { w: 2.5, k: 3 })).toEqual([{ x: '2.5' }]);
  });

  test('what neither type makes readable is refused in the words of the database', async () => {
    const error = await refusal(tool('select :d + :e as x', { d: 'date', e: 'date' }));
    expect(error).toMatchObject({ code: 'sql_error', detail: expect.stringContaining('operator') as string });
  });

  test.each(REFUSED)('%s is refused', async (sql, types, ...words) => {
    const error = await refusal(tool(sql, types));
    expect(error.code).toBe('invalid');
    for (const word of words) expect(error.detail).toContain(word);
  });
});
