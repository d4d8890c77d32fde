import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { FrozenPlanLimits } from '#core/contract/definitions/pages.ts';
import { openPostgres } from '#core/engines/postgresql/source.ts';
import type { RunOptions, Source } from '#core/engines/shared/source.ts';
import { AppError } from '#core/errors.ts';
import { createPseudonym } from '#core/query/masks.ts';
import { runQuery } from '#core/query/query.ts';
import { shape } from '#core/query/shape.ts';
import { NO_CALLER } from '#core/query/values.ts';
import { EVERY_ENGINE, type OpenEngine } from '#test/core/engines/shared/every-engine.ts';
import { planOn } from '#test/core/engines/shared/tool-call.ts';
import { localPolicy, reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';

/** 400,000 rows, of which all but 100 are of kind 1. */
const SCRIPTS: Partial<Record<OpenEngine['db_type'], readonly string[]>> = {
  postgresql: [
    'create table readings as select n as id, case when n <= 399900 then 1 else n end as kind from generate_series(1, 400000) n',
    'create index on readings (kind)',
    'analyze readings',
  ],
  mysql: [
    'create table readings (id bigint primary key, kind bigint, key (kind)) select seq as id, if(seq <= 399900, 1, seq) as kind from seq_1_to_400000',
    'analyze table readings',
  ],
  duckdb: ['create table readings as select n as id, case when n <= 399900 then 1 else n end as kind from range(1, 400001) t(n)'],
  clickhouse: [
    'create table readings (id UInt64, kind UInt64) engine = MergeTree order by kind',
    'insert into readings select number + 1, if(number < 399900, 1, number + 1) from numbers(400000)',
  ],
};
const PARAMETERS = [{ name: 'kind', type: 'integer' as const, required: false, description: 'Kind of the reading' }];
const OPTIONAL = 'select id from readings [[ where kind = :kind ]]';

interface Counted extends OpenEngine {
  estimates: number;
}

/** Counts how often the database is asked for a plan. */
function counting(engine: OpenEngine): Counted {
  const counted: Counted = {
    ...engine,
    estimates: 0,
    source: {
      ...engine.source,
      estimate(...args: Parameters<NonNullable<Source['estimate']>>) {
        counted.estimates++;
        return engine.source.estimate!(...args);
      },
    },
  };
  return counted;
}

/** A tool with limits; each call returns its rows and its note, or the error. */
async function limitedTool(engine: OpenEngine, sql: string, limits: FrozenPlanLimits, parameters = PARAMETERS) {
  const { plan } = await planOn(engine, sql, parameters, { limits, max_rows: 3 });
  return async (args: Readonly<Record<string, unknown>>) => {
    const facts = { arguments: args, vars: {}, caller: NO_CALLER, call: { id: 'c', time: 0 } };
    try {
      const values = await plan.resolve(facts);
      const run = { source: () => engine.source, facts, pseudonym: createPseudonym([]) };
      const { result } = await runQuery(plan, values, run);
      return { rows: result.rows.length, note: shape(result, 'rows', null).note };
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return { code: error.code, detail: error.detail };
    }
  };
}

for (const { kind, up, open } of EVERY_ENGINE) {
  const script = SCRIPTS[kind];
  if (script === undefined || (!up && process.env['CI'] !== 'true')) continue;
  describe(`plan limits on ${kind}`, () => {
    let engine: Counted;
    beforeAll(async () => {
      engine = counting(await open(script));
    });
    afterAll(() => engine.close());

    test('a call above the limit is refused, and runs once an argument narrows it', async () => {
      const call = await limitedTool(engine, OPTIONAL, { max_plan_rows: 100_000, plan_limit: 'refuse' });
      const refused = await call({});
      expect(refused).toMatchObject({ code: 'plan_too_large' });
      expect(refused.detail).toMatch(
        /^The statement was not run\. The database expects about [34]\d\d,\d\d\d rows in one step, and this tool is limited to 100,000\. To narrow the call, set kind\.$/,
      );
      expect(await call({ kind: 399_950 })).toEqual({ rows: 1, note: null });
    });

    test('a limit that warns adds a sentence to the rows', async () => {
      const call = await limitedTool(engine, OPTIONAL, { max_plan_rows: 100_000 });
      expect(await call({})).toEqual({ rows: 3, note: expect.stringContaining('this tool is limited to 100,000') });
      expect(await call({ kind: 399_950 })).toEqual({ rows: 1, note: null });
    });

    test('a plan within the limits is asked for once per shape of arguments, a refused one once per value', async () => {
      const call = await limitedTool(engine, OPTIONAL, { max_plan_rows: 100_000, plan_limit: 'refuse' });
      engine.estimates = 0;
      for (const n of [399_950, 399_951, 399_952]) await call({ kind: n });
      expect(engine.estimates).toBe(1);
      for (let n = 0; n < 3; n++) expect(await call({})).toMatchObject({ code: 'plan_too_large' });
      expect(engine.estimates).toBe(2);
    });

    test('a tool without limits is never estimated', async () => {
      const call = await limitedTool(engine, OPTIONAL, {});
      engine.estimates = 0;
      expect(await call({})).toMatchObject({ rows: 3 });
      expect(engine.estimates).toBe(0);
    });

    test('a join whose tables multiply counts its pairs', async () => {
      const sql = 'select count(*) as n from readings a cross join readings b';
      const call = await limitedTool(engine, sql, { max_plan_rows: 1_000_000, plan_limit: 'refuse' }, []);
      // ClickHouse estimates the rows that are read, which a join does not multiply.
      if (kind === 'clickhouse') return;
      expect(await call({})).toEqual({ code: 'plan_too_large', detail: expect.stringContaining('no arguments that narrow it') });
    });
  });
}

describe.skipIf(!reachable.postgres && process.env['CI'] !== 'true')('plan limits on PostgreSQL alone', () => {
  let database: TestDatabase;
  let engine: Counted;
  const options: RunOptions = { mode: 'read', timeout_ms: 5_000, max_rows: 10, max_bytes: 100_000 };
  beforeAll(async () => {
    database = await testDatabase('postgresql');
    for (const text of SCRIPTS.postgresql ?? []) await database.run(text);
    const source = openPostgres(database.settings, localPolicy);
    engine = counting({ source, db_type: 'postgresql', again: async () => source, close: () => source.close() });
  });
  afterAll(async () => {
    await engine.close();
    await database.drop();
  });

  test('skewed values have plans of their own: a frequent one is refused, then a rare one runs', async () => {
    const sql = 'select id, 1 / (kind - :kind) as fails from readings where kind = :kind';
    const call = await limitedTool(engine, sql, { max_plan_rows: 10_000, plan_limit: 'refuse' });
    const frequent = await call({ kind: 1 });
    // The statement would fail if it ran.
    expect(frequent).toMatchObject({ code: 'plan_too_large' });
    expect(frequent.detail).toContain('send values of kind that match fewer rows');
    expect(await call({ kind: 399_950 })).toMatchObject({ code: 'sql_error' });
  });

  test('a cost limit sees a scan that returns few rows', async () => {
    const sql = 'select id from readings where id + 1 = :kind';
    const call = await limitedTool(engine, sql, { max_plan_cost: 1_000, plan_limit: 'refuse' });
    const refused = await call({ kind: 5 });
    expect(refused).toMatchObject({ code: 'plan_too_large' });
    expect(refused.detail).toMatch(/expects a cost of about [\d,]+, and this tool is limited to 1,000/);
  });

  test('what a plan cannot show: a limit, a function and a recursion pass', async () => {
    const limits = { max_plan_rows: 1_000, plan_limit: 'refuse' as const };
    for (const sql of [
      'select id from readings limit 2',
      'select 1 as id from pg_sleep(0.01)',
      'with recursive r as (select 1 as n union all select n + 1 from r where n < 5000) select n from r',
    ]) {
      const call = await limitedTool(engine, sql, limits, []);
      expect([sql, await call({})]).toEqual([sql, expect.objectContaining({ rows: expect.any(Number) })]);
    }
  });

  test('the rows of parallel processes are counted together', async () => {
    const statement = { text: 'select count(*) from readings', values: [], types: [] };
    const estimate = await engine.source.estimate!(statement, options);
    expect(estimate.rows).toBeGreaterThan(390_000);
    expect(estimate.rows).toBeLessThan(410_000);
  });

  test('a statement that the database does not explain runs, and is not asked about again', async () => {
    const call = await limitedTool(engine, 'show server_version', { max_plan_rows: 1, plan_limit: 'refuse' }, []);
    engine.estimates = 0;
    expect(await call({})).toMatchObject({ rows: 1 });
    expect(await call({})).toMatchObject({ rows: 1 });
    expect(engine.estimates).toBe(1);
  });
});
