import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { fc } from '#test/support/chance.ts';
import { candidatesOf } from '#core/engines/postgresql/parameters/declared.ts';
import { openPostgres } from '#core/engines/postgresql/source.ts';
import { parseArray, parseBytes, parseTimestamptz, toBound } from '#core/engines/postgresql/values.ts';
import type { BoundType, Json } from '#core/lib/sql/result.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { localPolicy, reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { FIXED, READ, refusal, sql } from '../shared/suite.ts';

/** Expression, what it is in JSON, its kind and the database's name of its type. */
const VALUES: readonly (readonly [expression: string, value: Json, kind: string, type: string])[] = [
  ['true', true, 'boolean', 'boolean'],
  ['(-32768)::int2', -32768, 'integer', 'smallint'],
  ['2147483647', 2147483647, 'integer', 'integer'],
  ['9007199254740991::int8', 9007199254740991, 'bigint', 'bigint'],
  ['9007199254740992::int8', '9007199254740992', 'bigint', 'bigint'],
  ['(-9223372036854775808)::int8', '-9223372036854775808', 'bigint', 'bigint'],
  ['1.50::numeric(10,2)', '1.50', 'string', 'numeric'],
  ['123456789012345678901234567890.123456789', '123456789012345678901234567890.123456789', 'string', 'numeric'],
  [`'NaN'::numeric`, null, 'string', 'numeric'],
  [`'Infinity'::numeric`, null, 'string', 'numeric'],
  ['0.1::float4', 0.1, 'number', 'real'],
  ['0.1::float8 + 0.2::float8', 0.30000000000000004, 'number', 'double precision'],
  ['1e300::float8', 1e300, 'number', 'double precision'],
  [`'NaN'::float8`, null, 'number', 'double precision'],
  [`'-Infinity'::float4`, null, 'number', 'real'],
  [`'ünï"\\\\ 😀 \\n'::text`, 'ünï"\\\\ 😀 \\n', 'string', 'text'],
  [`'ab'::char(4)`, 'ab  ', 'string', 'character'],
  [`''`, '', 'string', 'text'],
  ['null::int', null, 'integer', 'integer'],
  [`date '2024-02-29'`, '2024-02-29', 'string', 'date'],
  [`date '0044-03-15 BC'`, '0044-03-15 BC', 'string', 'date'],
  [`date 'infinity'`, 'infinity', 'string', 'date'],
  [`time '23:59:59.123456'`, '23:59:59.123456', 'string', 'time without time zone'],
  [`timetz '12:00:00+05:30'`, '12:00:00+05:30', 'string', 'time with time zone'],
  [`timetz '12:00:00-03'`, '12:00:00-03:00', 'string', 'time with time zone'],
  [`timetz '12:00:00Z'`, '12:00:00Z', 'string', 'time with time zone'],
  [`timestamp '2024-01-02 03:04:05.123456'`, '2024-01-02T03:04:05.123456', 'string', 'timestamp without time zone'],
  [`timestamptz '2024-01-02 03:04:05.1+02'`, '2024-01-02T01:04:05.1Z', 'string', 'timestamp with time zone'],
  [`timestamptz '12024-01-02 03:04:05Z'`, '12024-01-02T03:04:05Z', 'string', 'timestamp with time zone'],
  [`timestamptz '-infinity'`, '-infinity', 'string', 'timestamp with time zone'],
  [`timestamp '0044-03-15 12:00:00 BC'`, '0044-03-15 12:00:00 BC', 'string', 'timestamp without time zone'],
  [`interval '1 year 2 months 3 days 04:05:06.7'`, '1 year 2 mons 3 days 04:05:06.7', 'string', 'interval'],
  [`'\\x00ff10'::bytea`, 'AP8Q', 'bytes', 'bytea'],
  [`''::bytea`, '', 'bytes', 'bytea'],
  [
    `'{"a": [1, 1.5, "x", null, true], "n": 12345678901234567890}'::jsonb`,
    J('{"a":[1,1.5,"x",null,true],"n":"12345678901234567890"}'),
    'json',
    'jsonb',
  ],
  [
    `'{"d": 0.1234567890123456789, "e": 1e400, "f": 1.10}'::json`,
    J('{"d":"0.1234567890123456789","e":"1e400","f":1.1}'),
    'json',
    'json',
  ],
  [`'null'::jsonb`, null, 'json', 'jsonb'],
  [`'"text"'::jsonb`, 'text', 'json', 'jsonb'],
  [`'2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d'::uuid`, '2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d', 'string', 'uuid'],
  [`inet '10.0.0.1/8'`, '10.0.0.1/8', 'string', 'inet'],
  ['int4range(1, 5)', '[1,5)', 'string', 'int4range'],
  [`row(1, 'a b', null)`, '(1,"a b",)', 'string', 'record'],
  ['12.34::money', '$12.34', 'string', 'money'],
  [`B'1010'`, '1010', 'string', 'bit'],
  [`'{1,2,NULL}'::int[]`, [1, 2, null], 'array', 'integer[]'],
  [`'{}'::text[]`, [], 'array', 'text[]'],
  [
    `array[[1,2],[3,4]]`,
    [
      [1, 2],
      [3, 4],
    ],
    'array',
    'integer[]',
  ],
  [`'[0:1]={7,8}'::int[]`, [7, 8], 'array', 'integer[]'],
  [
    `array['a,b', 'c"d', '{e}', 'f\\g', '', 'NULL', null, ' x ']`,
    ['a,b', 'c"d', '{e}', 'f\\g', '', 'NULL', null, ' x '],
    'array',
    'text[]',
  ],
  [`array[9007199254740993, 1]::int8[]`, ['9007199254740993', 1], 'array', 'bigint[]'],
  ['array[1.10, 2]', ['1.10', '2'], 'array', 'numeric[]'],
  ['array[true, null, false]', [true, null, false], 'array', 'boolean[]'],
  [`array['NaN', '1.5']::float8[]`, [null, 1.5], 'array', 'double precision[]'],
  [`array[timestamptz '2024-01-02 03:04:05+00', null]`, ['2024-01-02T03:04:05Z', null], 'array', 'timestamp with time zone[]'],
  // Lists of the catalogue, which are no arrays in their text.
  [`'1 2 3'::int2vector`, '1 2 3', 'string', 'int2vector'],
  [`'1 2'::oidvector`, '1 2', 'string', 'oidvector'],
  [`array['{"a":[1,"x,y"]}', 'null']::jsonb[]`, [{ a: [1, 'x,y'] }, null], 'array', 'jsonb[]'],
  [`array['\\x00ff'::bytea, null]`, ['AP8=', null], 'array', 'bytea[]'],
  [`array['(1,2),(0,0)']::box[]`, ['(1,2),(0,0)'], 'array', 'box[]'],
  [`array['(3,4),(1,2)', '(2,2),(0,0)']::box[]`, ['(3,4),(1,2)', '(2,2),(0,0)'], 'array', 'box[]'],
  [`'happy'::mood`, 'happy', 'string', 'mood'],
  [`array['happy', null, 'so so']::mood[]`, ['happy', null, 'so so'], 'array', 'mood[]'],
  ['5::small', 5, 'integer', 'integer'],
  ['array[5, 6]::small[]', [5, 6], 'array', 'small[]'],
  [`(1, 'x')::pair`, '(1,x)', 'string', 'pair'],
  [`array[(1, 'x')::pair, null]`, ['(1,x)', null], 'array', 'pair[]'],
];

describe.skipIf(!reachable.postgres)('values of PostgreSQL', () => {
  let database: TestDatabase;
  let source: Source;

  beforeAll(async () => {
    database = await testDatabase('postgresql');
    await database.run(`create type mood as enum ('happy', 'so so')`);
    await database.run('create domain small as int check (value < 100)');
    await database.run('create type pair as (a int, b text)');
    source = openPostgres(database.settings, localPolicy);
  });

  afterAll(async () => {
    await source.close();
    await database.drop();
  });

  test.each(VALUES)('%s', async (expression, value, kind, type) => {
    for (const mode of [FIXED, READ]) {
      const found = await source.query(sql(`select ${expression} as value`), mode);
      expect(found).toMatchObject({ columns: [{ name: 'value', kind, type }] });
      expect(found.rows[0]!['value']).toEqual(value);
    }
    expect((await source.describe(`select ${expression} as value`, [])).columns).toMatchObject([{ kind, type }]);
  });

  test('a column may be named like a property of every object', async () => {
    const { rows } = await source.query(sql(`select 1 as "__proto__", 2 as "constructor", 3 as "toString"`), READ);
    expect(Object.entries(rows[0]!)).toEqual([
      ['__proto__', 1],
      ['constructor', 2],
      ['toString', 3],
    ]);
  });

  test('repeated names never collide with a name that is there already', async () => {
    const { rows } = await source.query(sql('select 1 as a, 2 as a, 3 as a_2, 4 as a'), READ);
    expect(Object.keys(rows[0]!)).toEqual(['a', 'a_3', 'a_2', 'a_4']);
  });

  test('a session is in UTC and ISO whatever the defaults of the account are', async () => {
    const name = database.settings.database;
    await database.run(`alter database ${name} set timezone to 'Asia/Tokyo'`);
    await database.run(`alter database ${name} set datestyle to 'SQL, DMY'`);
    await database.run(`alter database ${name} set bytea_output to 'escape'`);
    await database.run(`alter database ${name} set intervalstyle to 'iso_8601'`);
    await database.run(`alter database ${name} set default_transaction_read_only to off`);
    const fresh = openPostgres(database.settings, localPolicy);
    const text = `select timestamptz '2024-01-02 03:04:05Z' as a, '\\x00ff'::bytea as b, interval '1 day' as c, 0.1::float8 as d`;
    for (const mode of [FIXED, READ, READ]) {
      expect((await fresh.query(sql(text), mode)).rows).toEqual([{ a: '2024-01-02T03:04:05Z', b: 'AP8=', c: '1 day', d: 0.1 }]);
    }
    await fresh.close();
  });

  describe('bound', () => {
    const big = '9007199254740993';
    const uuid = '2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d';
    /** Cast, value, declared type, and what comes back. */
    const BOUND: readonly (readonly [cast: string, value: Json, type: BoundType, back?: Json])[] = [
      ['text', 'it\'s "quoted" \\ 😀', 'string'],
      ['int4', 7, 'integer'],
      ['int8', big, 'integer'],
      ['numeric', '12345678901234567890.123', 'number'],
      ['numeric', 1.5, 'number', '1.5'],
      ['float8', 0.1, 'number'],
      ['boolean', false, 'boolean'],
      ['date', '2024-02-29', 'date'],
      ['timestamptz', '2024-01-02T03:04:05.123456Z', 'datetime'],
      ['uuid', uuid, 'uuid'],
      ['jsonb', { a: [1, 'x', null, true] }, 'json'],
      ['jsonb', 'a string', 'json'],
      ['jsonb', [1, 2], 'json'],
      ['jsonb', false, 'json'],
      ['int8[]', [1, null, big], { array: 'integer' }],
      ['text[]', ['a', null, 'b"c', 'd\\e', '{f}', 'NULL', ''], { array: 'string' }],
      ['text[]', [], { array: 'string' }],
      ['uuid[]', [uuid, null], { array: 'uuid' }],
      ['date[]', ['2024-02-29'], { array: 'date' }],
      ['boolean[]', [true, null, false], { array: 'boolean' }],
      ['numeric[]', ['1.10', null], { array: 'number' }],
      ['jsonb[]', [{ a: 'x,y' }, 'text', [1, 2], null], { array: 'json' }],
      ['text', null, 'string'],
      ['jsonb', null, 'json'],
      ['int8[]', null, { array: 'integer' }],
    ];

    test.each(BOUND)('%s %j', async (cast, value, type, back = value) => {
      const text = `select $1::${cast} as value`;
      for (const declared of [undefined, candidatesOf(type).slice(0, 1)]) {
        for (const mode of [FIXED, READ]) {
          expect((await source.query(sql(text, [value], [type], declared), mode)).rows).toEqual([{ value: back }]);
        }
      }
    });

    test('a string declared as string is JSON text for a JSON cast, and an array becomes JSON there', async () => {
      expect((await source.query(sql('select $1::jsonb as v', ['{"a":1}'], ['string']), READ)).rows).toEqual([{ v: { a: 1 } }]);
      const list = sql('select $1::jsonb as v', [['a', null, 1]], [{ array: 'string' }]);
      expect((await source.query(list, READ)).rows).toEqual([{ v: ['a', null, 1] }]);
    });

    test('an optional filter works: described with declared types when the database cannot infer them', async () => {
      await database.run('create table things (id int, made date, label varchar(9), tags text[], extra jsonb, mood mood)');
      await database.run(
        `insert into things values (1, '2024-01-01', 'a', '{x}', '{"k":1}', 'happy'), (2, '2024-02-02', 'b', '{}', '{}', null)`,
      );
      const cases: [string, Json, BoundType, number[], number[]][] = [
        ['$1 is null or id = $1', 2, 'integer', [2], [1, 2]],
        ['$1 is null or made >= $1', '2024-02-01', 'date', [2], [1, 2]],
        ['$1 is null or label = $1', 'a', 'string', [1], [1, 2]],
        ['$1 is null or extra @> $1', { k: 1 }, 'json', [1], [1, 2]],
        ['$1::mood is null or mood = $1', 'happy', 'string', [1], [1, 2]],
        ['id = any($1)', [1, 2, null], { array: 'integer' }, [1, 2], []],
        ['$1 is null or tags && $1', ['x'], { array: 'string' }, [1], [1, 2]],
        ['$1', true, 'boolean', [1, 2], []],
      ];
      for (const [where, value, type, matches, without] of cases) {
        const text = `select id from things where ${where} order by id`;
        const { reads = [] } = await source.describe(text, [type]);
        const declared = reads.map(({ as = null }) => as);
        const ids = async (bound: Json) =>
          (await source.query(sql(text, [bound], [type], declared), FIXED)).rows.map(({ id }) => id);
        expect([where, await ids(value)]).toEqual([where, matches as Json[]]);
        expect([where, await ids(null)]).toEqual([where, without as Json[]]);
      }
    });

    test('what cannot be inferred is described with the declared type, what can is not', async () => {
      expect(await source.describe('select $1 + $2 as sum', ['integer', 'integer'])).toEqual({
        columns: [{ name: 'sum', type: 'bigint', kind: 'bigint' }],
        // The first is what the second makes it.
        reads: [{}, { as: 'int8' }],
        parameters: ['integer', null],
      });
      expect((await source.describe('select $1 is null as x', ['date'])).reads).toEqual([{ as: 'date' }]);
      expect((await source.describe('select $1::int as x', ['string'])).reads).toEqual([{}]);
      const found = await source.query(sql('select $1 + $2 as sum', [big, 1], ['integer', 'integer'], ['int8', 'int8']), READ);
      expect(found.rows).toEqual([{ sum: '9007199254740994' }]);
    });

    test('the database points into the text, in JavaScript characters', async () => {
      const text = `select '😀ü' as a, nothing_here from things`;
      const error = await refusal(source.query(sql(text), READ));
      expect(error).toMatchObject({ code: 'sql_error', reason: '42703', position: text.indexOf('nothing_here') });
      const unknown = await refusal(source.describe('select idd from things', []));
      expect(unknown.detail).toContain('Hint: Perhaps you meant');
    });
  });

  test('any text, JSON and array comes back as it went', async () => {
    const text = fc.string({ unit: 'binary', maxLength: 40 }).filter((value) => !value.includes('\0') && value.isWellFormed());
    const json = fc
      .jsonValue({ stringUnit: 'grapheme', maxDepth: 3 })
      .filter((value) => !JSON.stringify(value).includes('\\u0000'));
    const property = fc.asyncProperty(
      text,
      fc.array(fc.option(text)),
      json,
      fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n),
      async (a, b, c, d) => {
        const values = [a, b, c as Json, String(d)];
        const types: BoundType[] = ['string', { array: 'string' }, 'json', 'integer'];
        const { rows } = await source.query(
          sql('select $1::text as a, $2::text[] as b, $3::json as c, $4::int8 as d', values, types),
          FIXED,
        );
        const whole = Number.isSafeInteger(Number(d)) ? Number(d) : String(d);
        expect(rows).toEqual([{ a, b, c: JSON.parse(JSON.stringify(c), unsafeAsText) as Json, d: whole }]);
      },
    );
    await fc.assert(property, { numRuns: 300 });
  });
});

describe('text of PostgreSQL', () => {
  test('an array literal of any depth is read as it was written', () => {
    const item = fc.option(fc.string({ unit: 'binary' }));
    fc.assert(
      fc.property(fc.array(fc.array(fc.array(item))), (value) => {
        expect(parseArray(String(toBound(value, { array: 'string' })), undefined)).toEqual(value);
      }),
    );
  });

  test('an array literal that ends too early does not hang', () => {
    for (const text of ['{', '{"', '{"a', '{"a\\', '{a,', '{{', '{{a}', '', '{"a",'])
      expect(parseArray(text, undefined)).toBeArray();
  });

  test('bytes are read in either form', () => {
    for (const text of ['\\x00ff5c41', '\\000\\377\\\\A']) expect(parseBytes(text)).toBe('AP9cQQ==');
    expect(parseBytes('\\x')).toBe('');
  });

  test('offsets with seconds stay as they are', () => {
    expect(parseTimestamptz('1880-01-01 00:00:00+00:19:32')).toBe('1880-01-01T00:00:00+00:19:32');
  });
});

function unsafeAsText(_key: string, value: unknown): unknown {
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? JSON.stringify(value) : value;
}

function J(text: string): Json {
  return JSON.parse(text) as Json;
}
