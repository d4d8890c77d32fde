import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { openPostgres } from '#core/engines/postgresql/source.ts';
import type { BoundStatement, BoundType, Json, Row } from '#core/lib/sql/result.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { localPolicy, reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { openTcpProxy, type TcpProxy } from '#test/support/tcp-proxy.ts';
import { FIXED, sql } from '../shared/suite.ts';
import { until } from '#test/support/until.ts';

const MOMENT = '2026-01-01T12:00:00+02:00';

interface Held {
  readonly type: string;
  readonly value: Json;
  readonly bound: BoundType;
  readonly stored: string;
}

/** Columns, and values whose text says more than a value of the column's type. */
const NARROWED: readonly Held[] = [
  { type: 'real', value: 0.7, bound: 'number', stored: '0.7' },
  { type: 'date', value: MOMENT, bound: 'datetime', stored: `'2026-01-01'` },
  { type: 'timestamp', value: '2026-01-01T10:00:00Z', bound: 'string', stored: `'2026-01-01T10:00:00Z'` },
];

/** Columns, and values that lose nothing in them. */
const WHOLE: readonly Held[] = [
  { type: 'timestamp', value: MOMENT, bound: 'datetime', stored: `'2026-01-01T10:00:00'` },
  { type: 'timestamptz', value: MOMENT, bound: 'datetime', stored: `'${MOMENT}'` },
  {
    type: 'timestamp[]',
    value: [MOMENT],
    bound: { array: 'datetime' },
    stored: `array['2026-01-01T10:00:00'::timestamp]`,
  },
  { type: 'double precision', value: 0.7, bound: 'number', stored: '0.7' },
  { type: 'real', value: 0.25, bound: 'number', stored: '0.25' },
];

describe.skipIf(!reachable.postgres)('what a value costs that says more than its column on PostgreSQL', () => {
  let database: TestDatabase;
  let proxy: TcpProxy;
  let source: Source;
  /** Chunks with a value or the text of a statement that went to the server, and how often it was sent a text. */
  let writes = 0;
  let parsed = 0;
  let tables = 0;
  const tableOf = new Map<Held, string>();

  beforeAll(async () => {
    database = await testDatabase('postgresql');
    const { host, port } = database.settings;
    proxy = await openTcpProxy(
      { host: host!, port: port! },
      {
        toServer(bytes) {
          const sent = bytes.toString('latin1');
          const texts = sent.split('select id from held').length - 1;
          parsed += texts;
          if (texts > 0 || /0\.7|0\.25|2026-01-01/.test(sent)) writes++;
          return bytes;
        },
      },
    );
    // Before the source opens: sessions end when the catalogue has changed, which would be counted, too.
    for (const held of [...NARROWED, ...WHOLE]) tableOf.set(held, await createTable(held));
    source = openPostgres(
      { ...database.settings, host: '127.0.0.1', port: proxy.port, ssl_mode: 'disable', pool_size: 1 },
      localPolicy,
    );
  });
  afterAll(async () => {
    await source.close();
    await proxy.close();
    await database.drop();
  });

  /** A table with one row that the statement finds. */
  async function createTable({ type, stored }: Pick<Held, 'type' | 'stored'>): Promise<string> {
    const table = `held${tables++}`;
    await database.run(`create table ${table} as select 1 as id, ${stored}::${type} as held`);
    return table;
  }

  /** A statement that is pipelined already. */
  async function prepared({ value, bound }: Pick<Held, 'value' | 'bound'>, table: string): Promise<BoundStatement> {
    const statement = sql(`select id from ${table} where held = $1`, [value], [bound]);
    await warm({ ...statement, values: [null] }, []);
    writes = parsed = 0;
    return statement;
  }

  /** Until the statement is pipelined; it always has the same answer. */
  const warm = (statement: BoundStatement, rows: readonly Row[]) =>
    until(async () => {
      expect((await source.query(statement, FIXED)).rows).toEqual([...rows]);
      const answer = await pipelined(statement);
      if (answer !== null) expect(answer).toEqual(rows);
      return answer !== null;
    });

  async function pipelined(statement: BoundStatement): Promise<readonly Row[] | null> {
    return (await source.pipelineSlot?.(statement, 1)?.query(FIXED))?.rows ?? null;
  }

  /** Answers on five slots. A busy machine may find the statement slow in between; then it is measured once more. */
  const pipelinedFive = (held: Held) =>
    until(async () => {
      const statement = await prepared(held, tableOf.get(held)!);
      const answers = await pipelinedTimes(5, statement);
      return answers.includes(undefined) ? null : { statement, answers };
    });

  /** One after the other. */
  async function pipelinedTimes(times: number, statement: BoundStatement): Promise<unknown[]> {
    const slots = Array.from({ length: times }, () => source.pipelineSlot?.(statement, 1));
    const answers: unknown[] = [];
    for (const slot of slots) answers.push((await slot?.query(FIXED))?.rows);
    return answers;
  }

  const found = [{ id: 1 }];
  const fiveTimes = Array.from({ length: 5 }, () => found);

  test.each(WHOLE)('a statement on $type with $value is parsed once and pipelined', async (held) => {
    const { statement, answers } = await pipelinedFive(held);
    expect(answers).toEqual(fiveTimes);
    expect([writes, parsed]).toEqual([5, 0]);
    for (let i = 0; i < 5; i++) expect((await source.query(statement, FIXED)).rows).toEqual(found);
    expect([writes, parsed]).toEqual([10, 0]);
  });

  test.each(NARROWED)('a statement on $type with $value takes one round trip and is pipelined', async (held) => {
    const { statement, answers } = await pipelinedFive(held);
    expect(answers).toEqual(fiveTimes);
    for (let i = 0; i < 5; i++) expect((await source.query(statement, FIXED)).rows).toEqual(found);
    expect(writes).toBe(10);
  });

  test.each<Held & { readonly to: string }>([
    { type: 'real', to: 'double precision', value: 0.7, bound: 'number', stored: '0.7' },
    { type: 'date', to: 'timestamptz', value: MOMENT, bound: 'datetime', stored: `'${MOMENT}'` },
    { type: 'timestamp', to: 'timestamptz', value: MOMENT, bound: 'string', stored: `'${MOMENT}'` },
    { type: 'timestamp', to: 'timestamptz', value: MOMENT, bound: 'datetime', stored: `'${MOMENT}'` },
  ])('once $type is $to, a $bound is compared as a whole, pipelined or not', async (held) => {
    for (const is_pipelined of [true, false]) {
      const table = await createTable(held);
      const statement = await prepared(held, table);
      await database.run(`alter table ${table} alter column held type ${held.to}`);
      await database.run(`update ${table} set held = ${held.stored}`);
      const first = is_pipelined ? await pipelined(statement) : null;
      if (first !== null) expect(first).toEqual(found);
      for (let i = 0; i < 3; i++) expect((await source.query(statement, FIXED)).rows).toEqual(found);
      await warm(statement, found);
    }
  });

  test('an answer that comes in portions is not one for a part of the value either', async () => {
    const table = await createTable({ type: 'real', stored: '0.7' });
    const text = `select id, repeat('x', 100000) as pad from ${table}, generate_series(1, 100) where held = $1`;
    const many = sql(text, [0.7], ['number']);
    const limits = { ...FIXED, max_bytes: 10_000, max_rows: 1 };
    for (let i = 0; i < 3; i++) expect((await source.query(many, limits)).truncated).toBe(true);
    await database.run(`alter table ${table} alter column held type double precision`);
    await database.run(`update ${table} set held = 0.7`);
    const answer = await source.query(many, { ...FIXED, max_rows: 1 });
    expect(answer.rows.map(({ id }) => id)).toEqual([1]);
  });

  test('a statement that is told of its caller is answered for the whole value, too', async () => {
    const table = await createTable({ type: 'real', stored: '0.7' });
    const told = openPostgres(
      { ...database.settings, pool_size: 1, session_values: [{ name: 'app.tenant', from: 'caller.sub' }] },
      localPolicy,
    );
    const text = `select id, current_setting('app.tenant') as tenant from ${table} where held = $1`;
    const statement = sql(text, [0.7], ['number']);
    const ask = async (tenant: string) => {
      const options = { ...FIXED, session: { values: [tenant], role: null } };
      const answer = (await told.pipelineSlot?.(statement, 1)?.query(options)) ?? (await told.query(statement, options));
      expect(answer.rows).toEqual([{ id: 1, tenant }]);
    };
    for (let i = 0; i < 5; i++) await ask(`t${i}`);
    await Promise.all(Array.from({ length: 8 }, (_, n) => ask(`u${n}`)));
    await database.run(`alter table ${table} alter column held type double precision using 0.7`);
    await Promise.all(Array.from({ length: 8 }, (_, n) => ask(`v${n}`)));
    await told.close();
  });

  test('a column that becomes wider while statements are on their way gives none of them a wrong answer', async () => {
    const held = { type: 'real', value: 0.7, bound: 'number', stored: '0.7' } as const;
    const table = await createTable(held);
    const statement = await prepared(held, table);
    const ask = async () => (await pipelined(statement)) ?? (await source.query(statement, FIXED)).rows;
    const answers = Array.from({ length: 8 }, ask);
    const widened = database.run(
      `alter table ${table} alter column held type double precision using held::text::double precision`,
    );
    answers.push(...Array.from({ length: 8 }, ask));
    for (const answer of await Promise.all(answers)) expect(answer).toEqual(found);
    await widened;
    for (const answer of await Promise.all(Array.from({ length: 8 }, ask))) expect(answer).toEqual(found);
  });
});
