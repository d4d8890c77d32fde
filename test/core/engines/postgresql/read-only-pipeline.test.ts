import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { openPostgres } from '#core/engines/postgresql/source.ts';
import type { BoundType, Json } from '#core/lib/sql/result.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { localPolicy, reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { FIXED, READ, refusal, sql } from '../shared/suite.ts';

describe.skipIf(!reachable.postgres)('fixed statements on PostgreSQL', () => {
  let database: TestDatabase;
  let source: Source;

  beforeAll(async () => {
    database = await testDatabase('postgresql');
    source = openPostgres({ ...database.settings, pool_size: 1 }, localPolicy);
  });

  afterAll(async () => {
    await source.close();
    await database.drop();
  });

  const many = { ...FIXED, max_rows: 100_000, max_bytes: 64 * 1024 * 1024 };

  test('many rows come whole and in order, whatever their letters are and wherever a packet ends', async () => {
    const text = `select i, case i % 3 when 0 then 'ä€😀' || i when 1 then repeat('é', i % 500) else repeat('x', i % 500) end as word,
      case when i % 7 = 0 then null else i / 4.0 end as part, array[i, null, -i] as list from generate_series(1, 20000) as i`;
    const { rows, truncated } = await source.query(sql(text), many);
    expect([rows.length, truncated]).toEqual([20_000, false]);
    for (const [n, row] of rows.entries()) {
      const i = n + 1;
      const word = [`ä€😀${i}`, 'é'.repeat(i % 500), 'x'.repeat(i % 500)][i % 3];
      if (row['i'] !== i || row['word'] !== word || (row['part'] === null) !== (i % 7 === 0))
        throw new Error(`Row ${i} differs.`);
    }
    expect(rows[3]).toEqual({ i: 4, word: 'éééé', part: '1.00000000000000000000', list: [4, null, -4] });
  });

  test('other work has its turn while many rows are read', async () => {
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    await source.query(sql('select i, md5(i::text) as x from generate_series(1, 20000) as i'), many);
    clearInterval(timer);
    expect(turns).toBeGreaterThan(10);
  });

  test('a row larger than a packet, an empty answer and an empty statement leave the session as it was', async () => {
    const before = await source.query(sql('select pg_backend_pid() as pid'), FIXED);
    const wide = await source.query(sql(`select repeat('ö', 1000000) as wide, 1 as one`), many);
    expect(wide.rows[0]).toEqual({ wide: 'ö'.repeat(1_000_000), one: 1 });
    expect((await source.query(sql('select 1 as one where false'), FIXED)).rows).toEqual([]);
    expect((await source.query(sql(''), FIXED)).rows).toEqual([]);
    expect((await source.query(sql('select pg_backend_pid() as pid'), FIXED)).rows).toEqual(before.rows);
  });

  test.each([FIXED, READ])(
    'a document nested too deeply to be read comes as its text, and the next call is served (%j)',
    async (options) => {
      const deep = `${'['.repeat(6_000)}1234567890123456789${']'.repeat(6_000)}`;
      const text = `select (repeat('[', 6000) || '1234567890123456789' || repeat(']', 6000))::json as doc`;
      expect((await source.query(sql(text), options)).rows).toEqual([{ doc: deep }]);
      expect((await source.query(sql(`select '[1]'::json as doc`), options)).rows).toEqual([{ doc: [1] }]);
    },
  );

  test('the extremes of whole numbers are read as they are', async () => {
    const text = `select '-2147483648'::int as least, 2147483647 as most, (-32768)::int2 as small, 4294967295::oid as oid, 0 as zero`;
    expect((await source.query(sql(text), FIXED)).rows).toEqual([
      { least: -2_147_483_648, most: 2_147_483_647, small: -32_768, oid: 4_294_967_295, zero: 0 },
    ]);
  });

  test('an error in the middle of the rows is told, and the session goes on', async () => {
    const before = await source.query(sql('select pg_backend_pid() as pid'), FIXED);
    const error = await refusal(source.query(sql('select 1 / (1000 - i) as x from generate_series(1, 5000) as i'), many));
    expect([error.code, error.detail]).toEqual(['sql_error', 'division by zero.']);
    expect((await source.query(sql('select pg_backend_pid() as pid'), FIXED)).rows).toEqual(before.rows);
  });

  test('a statement takes one statement only, and values are never text of it', async () => {
    expect((await refusal(source.query(sql('select 1; select 2'), FIXED))).code).toBe('sql_error');
    const value = `'; select set_config('default_transaction_read_only', 'off', false) --`;
    const bound = { text: 'select $1::text as back', values: [value], types: ['string' as const] };
    expect((await source.query(bound, FIXED)).rows).toEqual([{ back: value }]);
    expect((await refusal(source.query({ ...bound, values: ['a\0b'] }, FIXED))).code).toBe('sql_error');
    expect((await source.query(bound, FIXED)).rows).toEqual([{ back: value }]);
  });

  test('a column that gets another type makes no kept statement useless', async () => {
    await database.run(`create table retyped as select 5 as id, 'five' as word`);
    const bound = { text: 'select word from retyped where id = $1', values: [5], types: ['integer' as const] };
    const answers = [];
    for (const type of ['int', 'text', 'numeric', 'varchar(5)', 'bigint']) {
      await database.run(`alter table retyped alter column id type ${type} using id::text::${type}`);
      for (let run = 0; run < 4; run++) {
        const answer = (await source.pipelineSlot?.(bound, 1)?.query(FIXED)) ?? (await source.query(bound, FIXED));
        answers.push(...answer.rows);
      }
    }
    expect(answers).toEqual(Array.from({ length: 20 }, () => ({ word: 'five' })));
  });

  test('a column that became wider takes the values that it has room for now', async () => {
    await database.run('create table widened as select 5 as id');
    const run = async (value: Json, type: 'integer' | 'number' = 'integer') => {
      const bound = { text: 'select id from widened where id = $1', values: [value], types: [type] };
      return ((await source.pipelineSlot?.(bound, 1)?.query(FIXED)) ?? (await source.query(bound, FIXED))).rows;
    };
    for (const [type, value, row] of [
      ['int', 5, 5],
      ['bigint', 3_000_000_000, 3_000_000_000],
      ['numeric', '1.5', '1.5'],
    ] as const) {
      await database.run(`alter table widened alter column id type ${type}`);
      await database.run(`update widened set id = ${value}`);
      for (let i = 0; i < 4; i++) expect(await run(value, type === 'numeric' ? 'number' : 'integer')).toEqual([{ id: row }]);
      for (let i = 0; i < 2; i++) expect(await refusal(run('x'))).toMatchObject({ code: 'sql_error', reason: '22P02' });
    }
  });

  test('a column that became wider is compared with the whole value', async () => {
    const day = '2026-01-01T12:00:00Z';
    const cases: readonly (readonly [string, string, Json, BoundType, string])[] = [
      ['date', 'timestamptz', day, 'datetime', `'${day}'`],
      ['date', 'timestamp', day, 'datetime', `'${day}'`],
      ['timestamp', 'timestamptz', '2026-01-01T12:00:00+02:00', 'string', `'2026-01-01T12:00:00+02:00'`],
      ['real', 'double precision', 0.1, 'number', '0.1'],
      ['double precision', 'numeric', '0.12345678901234567890123', 'number', '0.12345678901234567890123'],
      ['char(4)', 'text', 'ab ', 'string', `'ab '`],
      ['date[]', 'timestamptz[]', [day, null], { array: 'datetime' }, `array['${day}', null]::timestamptz[]`],
    ];
    for (const [n, [from, to, value, type, kept]] of cases.entries()) {
      await database.run(`create table wider${n} (id int, held ${from})`);
      const text = `select id from wider${n} where held = $1`;
      const bound = { text, values: [value], types: [type] };
      const run = async () => ((await source.pipelineSlot?.(bound, 1)?.query(FIXED)) ?? (await source.query(bound, FIXED))).rows;
      for (let i = 0; i < 4; i++) expect(await run()).toEqual([]);
      await database.run(`alter table wider${n} alter column held type ${to}`);
      await database.run(`insert into wider${n} values (1, ${kept})`);
      for (let i = 0; i < 4; i++) expect([from, to, await run()]).toEqual([from, to, [{ id: 1 }]]);
    }
  });
});
