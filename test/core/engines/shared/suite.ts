import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { AppError } from '#core/errors.ts';
import type { BoundStatement, BoundType, Json } from '#core/lib/sql/result.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { OpenSource, RunOptions, Source } from '#core/engines/shared/source.ts';
import { localPolicy, type TestDatabase } from '#test/support/databases.ts';
import { until } from '#test/support/until.ts';

export const READ: RunOptions = { mode: 'read', timeout_ms: 10_000, max_rows: 1_000, max_bytes: 4 * 1024 * 1024 };
export const FIXED: RunOptions = { ...READ, mode: 'fixed' };
export const WRITE: RunOptions = { ...READ, mode: 'write' };

export function sql(
  text: string,
  values: readonly Json[] = [],
  types: readonly BoundType[] = [],
  declared?: readonly (string | null)[],
): BoundStatement {
  return { text, values, types, ...(declared !== undefined && { declared }) };
}

/** The AppError that a call rejects with; anything else fails the test. */
export async function refusal(work: Promise<unknown>): Promise<AppError> {
  const outcome: unknown = await work.then(
    () => 'it was answered',
    (error: unknown) => error,
  );
  if (outcome instanceof AppError) return outcome;
  throw new Error(`no AppError but ${Bun.inspect(outcome)}`);
}

export interface SuiteOptions {
  readonly title: string;
  readonly reachable: boolean;
  readonly open: OpenSource;
  readonly create: () => Promise<TestDatabase>;
  /** `count` rows of one column `n`, produced without a table. */
  readonly numbers: (count: number) => string;
  readonly sleep: (seconds: number) => string;
  /** The first placeholder of a statement. */
  readonly first: string;
  /** How many sessions of the source the server has, and how many of them execute something. */
  readonly counts: (database: TestDatabase) => Promise<{ open: number; busy: number }>;
}

/** What every networked source promises, whatever its dialect. */
export function sourceSuite(options: SuiteOptions): void {
  const { sleep, numbers } = options;

  describe.skipIf(!options.reachable)(options.title, () => {
    let database: TestDatabase;
    let source: Source;
    const opened: Source[] = [];

    function open(changes: Partial<ConnectionSettings> = {}): Source {
      const next = options.open({ ...database.settings, ...changes }, localPolicy);
      opened.push(next);
      return next;
    }

    beforeAll(async () => {
      database = await options.create();
      await database.run('create table items (id int primary key, name varchar(50))');
      await database.run(`insert into items values (1, 'pen'), (2, 'ink'), (3, null)`);
      source = open();
    });

    afterAll(async () => {
      await Promise.all(opened.map((each) => each.close()));
      // A database may see the end of a session a moment after we do.
      await until(async () => (await options.counts(database)).open === 0);
      await database.drop();
    });

    for (const options_of_mode of [FIXED, READ, WRITE]) {
      test(`${options_of_mode.mode}: rows come back in order, with a bound value and a repeated name`, async () => {
        const text = `select id, name, id from items where id >= ${options.first} order by id`;
        const found = await source.query(sql(text, [2], ['integer']), options_of_mode);
        expect(found.rows).toEqual([
          { id: 2, name: 'ink', id_2: 2 },
          { id: 3, name: null, id_2: 3 },
        ]);
        expect(found.columns.map(({ name }) => name)).toEqual(['id', 'name', 'id_2']);
        expect(found).toMatchObject({ truncated: false, affected_rows: null });
      });

      test(`${options_of_mode.mode}: no rows still tell their columns`, async () => {
        const found = await source.query(sql('select id, name from items where 1 = 0'), options_of_mode);
        expect(found).toMatchObject({ rows: [], truncated: false, affected_rows: null });
        expect(found.columns.map(({ name }) => name)).toEqual(['id', 'name']);
      });

      test(`${options_of_mode.mode}: exactly the limit is not truncated, one row more is`, async () => {
        for (const [count, truncated] of [
          [999, false],
          [1_000, false],
          [1_001, true],
          [20_000, true],
        ] as const) {
          const found = await source.query(sql(numbers(count)), options_of_mode);
          expect([found.rows.length, found.truncated]).toEqual([Math.min(count, 1_000), truncated]);
          expect(found.rows.at(-1)).toEqual({ n: Math.min(count, 1_000) });
        }
      });

      test(`${options_of_mode.mode}: the byte limit ends the rows too`, async () => {
        const found = await source.query(sql(numbers(5_000)), { ...options_of_mode, max_rows: 10_000, max_bytes: 4_096 });
        expect(found.truncated).toBe(true);
        expect(JSON.stringify(found.rows).length).toBeWithin(1_024, 8_192);
      });

      test(`${options_of_mode.mode}: a faulty statement says what the database says, and where`, async () => {
        const error = await refusal(source.query(sql('select nothing_like_it from items'), options_of_mode));
        expect(error.code).toBe('sql_error');
        expect(error.detail).toContain('nothing_like_it');
        expect((await source.query(sql('select 1 as one'), options_of_mode)).rows).toEqual([{ one: 1 }]);
      });

      test(`${options_of_mode.mode}: a statement beyond its time is stopped in the database`, async () => {
        const began = performance.now();
        const error = await refusal(source.query(sql(sleep(20)), { ...options_of_mode, timeout_ms: 300 }));
        expect(error.code).toBe('timeout');
        expect(performance.now() - began).toBeLessThan(3_000);
        await until(async () => (await options.counts(database)).busy === 0);
      });

      test(`${options_of_mode.mode}: a caller that goes away cancels its statement in the database`, async () => {
        const caller = new AbortController();
        const call = refusal(source.query(sql(sleep(20)), { ...options_of_mode, signal: caller.signal }));
        await until(async () => (await options.counts(database)).busy === 1);
        caller.abort();
        expect((await call).code).toBe('cancelled');
        await until(async () => (await options.counts(database)).busy === 0);
        expect((await source.query(sql('select 1 as one'), options_of_mode)).rows).toEqual([{ one: 1 }]);
      });

      test(`${options_of_mode.mode}: a caller that goes away at any moment leaves nothing behind in the database`, async () => {
        for (let n = 0; n < 40; n++) {
          const caller = new AbortController();
          const call = source
            .query(sql(sleep(20)), { ...options_of_mode, signal: caller.signal })
            .catch((error: unknown) => error);
          await Bun.sleep(n / 8);
          caller.abort();
          await call;
        }
        await until(async () => (await options.counts(database)).busy === 0);
      });

      test(`${options_of_mode.mode}: a caller that was gone before the start runs nothing`, async () => {
        const call = source.query(sql(sleep(20)), { ...options_of_mode, signal: AbortSignal.abort() });
        expect((await refusal(call)).code).toBe('cancelled');
      });
    }

    test('a write is committed, counts its rows, and is refused where only reading is allowed', async () => {
      const insert = (id: number) => sql(`insert into items values (${id}, 'new')`);
      expect(await source.query(insert(10), WRITE)).toMatchObject({ rows: [], affected_rows: 1 });
      expect(await source.query(sql(`update items set name = 'old' where id < 3`), WRITE)).toMatchObject({ affected_rows: 2 });
      for (const mode of [READ, FIXED]) expect((await refusal(source.query(insert(11), mode))).code).toBe('not_read_only');
      expect((await source.query(sql('select id from items where id > 9'), FIXED)).rows).toEqual([{ id: 10 }]);
    });

    test('a write that fails or is cancelled changes nothing', async () => {
      const before = await database.run('select count(*) as n from items');
      await refusal(source.query(sql(`insert into items values (20, 'a'), (1, 'twice')`), WRITE));
      const caller = new AbortController();
      const text = `insert into items select 21, 'slept' from (${sleep(20)}) as s`;
      const call = refusal(source.query(sql(text), { ...WRITE, signal: caller.signal }));
      await until(async () => (await options.counts(database)).busy === 1);
      caller.abort();
      expect((await call).code).toBe('cancelled');
      expect(await database.run('select count(*) as n from items')).toEqual(before);
    });

    test('all sessions together stay within the pool, every call is served, and none is left behind', async () => {
      const small = open({ pool_size: 3 });
      let most = 0;
      const calls = Array.from({ length: 60 }, async (_, i) => {
        const found = await small.query(sql('select 1 as one'), [FIXED, READ, WRITE][i % 3]!);
        most = Math.max(most, small.sessions());
        return found.rows[0];
      });
      expect(await Promise.all(calls)).toEqual(Array.from({ length: 60 }, () => ({ one: 1 })));
      expect(most).toBeLessThanOrEqual(3);
      await small.close();
      expect(small.sessions()).toBe(0);
    });

    test('one session serves calls one after the other, and a caller may leave the queue', async () => {
      const single = open({ pool_size: 1 });
      const slow = single.query(sql(sleep(0.4)), READ);
      await until(() => single.sessions() === 1);
      const caller = new AbortController();
      const leaves = refusal(single.query(sql('select 2 as n'), { ...READ, signal: caller.signal }));
      const stays = single.query(sql('select 3 as n'), FIXED);
      caller.abort();
      expect((await leaves).code).toBe('cancelled');
      expect((await stays).rows).toEqual([{ n: 3 }]);
      await slow;
      expect(single.sessions()).toBe(1);
    });

    test('closing waits for what runs, and refuses what comes later', async () => {
      const closing = open();
      const running = closing.query(sql(numbers(3)), READ);
      const closed = closing.close();
      expect((await running).rows).toHaveLength(3);
      await closed;
      expect((await refusal(closing.query(sql('select 1'), READ))).code).toBe('unavailable');
    });

    test('a million rows do not grow the memory', async () => {
      for (const mode of [FIXED, READ]) await source.query(sql(numbers(1_000_000)), mode);
      Bun.gc(true);
      const before = process.memoryUsage.rss();
      for (let i = 0; i < 3; i++) {
        for (const mode of [FIXED, READ]) {
          expect(await source.query(sql(numbers(1_000_000)), mode)).toMatchObject({ truncated: true });
        }
      }
      expect(process.memoryUsage.rss() - before).toBeLessThan(48 * 1024 * 1024);
    });

    test('wrong passwords, databases and ports are told apart', async () => {
      const port = 1;
      expect(await refusal(open({ port }).test())).toMatchObject({ code: 'database_unreachable', reason: 'refused' });
      expect(await refusal(open({ host: 'nowhere.invalid' }).test())).toMatchObject({ reason: 'dns_failed' });
      expect(await refusal(open({ database: 'no_such_database' }).test())).toMatchObject({ reason: 'database_missing' });
      const blocked = options.open(database.settings, { ...localPolicy, allow_private_networks: false });
      expect(await refusal(blocked.query(sql('select 1'), READ))).toMatchObject({ code: 'private_network_blocked' });
    });

    test('a described statement tells its columns and does not run', async () => {
      const { columns } = await source.describe('select id, name from items', []);
      expect(columns.map(({ name }) => name)).toEqual(['id', 'name']);
      await source.describe(`delete from items`, []);
      expect((await source.query(sql('select count(*) as n from items where id < 4'), READ)).rows).toEqual([{ n: 3 }]);
    });

    test('the catalogue lists tables and their columns, with the exact total', async () => {
      await database.run('create table parts (item_id int references items (id), code varchar(10), primary key (item_id, code))');
      const { items, total } = await source.tables({ search: 'ART', skip: 0, limit: 10 });
      expect([total, items.map(({ name, type }) => [name, type])]).toEqual([1, [['parts', 'table']]]);
      expect(await source.tables({ skip: 50, limit: 10 })).toEqual({ items: [], total: 2 });
      const found = await source.columns({ name: 'parts' }, { skip: 0, limit: 10 });
      expect(found.total).toBe(2);
      expect(found.items).toMatchObject([
        { name: 'item_id', nullable: false, primary_key: true },
        { name: 'code', nullable: false, primary_key: true },
      ]);
      expect((await refusal(source.columns({ name: 'no_such_table' }, { skip: 0, limit: 10 }))).code).toBe('not_found');
    });

    test('the test names the version of the server', async () => {
      expect((await source.test()).server_version).toMatch(/\d+\.\d+/);
    });
  });
}
