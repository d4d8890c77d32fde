import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { engineOf } from '#core/engines/index.ts';
import { planQuery, runQuery } from '#core/query/query.ts';
import { NO_CALLER } from '#core/query/values.ts';
import { AppError } from '#core/errors.ts';
import { openPostgres } from '#core/engines/postgresql/source.ts';
import type { Row } from '#core/lib/sql/result.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { Stop } from '#core/engines/shared/stop.ts';
import { createQueue, type Queue } from '#mcp-host/connections/queue.ts';
import { localPolicy, reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { createRandom } from '#test/support/chance.ts';
import { bind, parseSql } from '#test/support/sql.ts';
import { until } from '#test/support/until.ts';

const PLACES = 2;
const MIB = 1024 * 1024;

/** Statements that are measured as fast travel behind each other on one session; nobody may notice but by the clock. */
describe.skipIf(!reachable.postgres)('pipelined statements', () => {
  let database: TestDatabase;
  let source: Source;
  let queue: Queue;

  beforeEach(async () => {
    database = await testDatabase('postgresql');
    source = openPostgres({ ...database.settings, pool_size: PLACES }, localPolicy);
    queue = createQueue({ name: 'shop', max_concurrency: PLACES, queue_limit: 1_000, queue_timeout_ms: 20_000 });
  });
  afterEach(async () => {
    await source.close();
    await database.drop();
  });

  /** Sleeps `s` seconds, then fails when `d` is 0, then says `n`, padded to `w` characters. */
  const SQL = `select :n::int as n, 1 / :d::int as d, repeat('x', :w::int) as pad from pg_sleep(:s::float8)`;
  const parameters = ['n', 'd', 'w', 's'].map((name) => ({
    name,
    type: name === 's' ? ('number' as const) : ('integer' as const),
    description: '',
    required: true,
  }));
  const statement = parseSql(SQL, 'postgresql', parameters);
  const plan = (limits: { timeout_ms?: number; max_bytes?: number } = {}) =>
    planQuery(
      {
        connection_id: 'c',
        statement,
        mode: 'fixed',
        parameters,
        timeout_ms: 10_000,
        max_rows: 100,
        max_bytes: MIB,
        transform_template: null,
        ...limits,
      },
      engineOf('postgresql').dialect,
    );
  const usual = plan();
  interface Asked {
    readonly d?: number;
    readonly w?: number;
    readonly s?: number;
    readonly signal?: Stop;
    readonly by?: ReturnType<typeof plan>;
  }
  const ask = async (n: number, { d = 1, w = 0, s = 0, signal, by = usual }: Asked = {}): Promise<Row | undefined> => {
    const ran = await runQuery(
      by,
      { n, d, w, s },
      {
        source: () => source,
        opened: () => source,
        slot: queue,
        facts: { arguments: {}, vars: {}, caller: NO_CALLER, call: { id: '', time: 0 } },
        pseudonym: String,
        ...(signal && { signal }),
      },
    );
    return ran.result.rows[0];
  };
  const codeOf = (work: Promise<unknown>): Promise<string> =>
    work.then(
      (answer) => (answer === null ? 'displaced' : 'answered'),
      (error: unknown) => (error instanceof AppError ? error.code : String(error)),
    );
  /** Until each session keeps the statement and knows that it is quick, also on a busy machine. */
  const warm = () =>
    until(async () => {
      await Promise.all(Array.from({ length: PLACES }, (_, n) => ask(n)));
      const bound = bind(statement, { n: 0, d: 1, w: 0, s: 0 });
      const slots = Array.from({ length: 8 * PLACES }, () => source.pipelineSlot?.(bound, PLACES) ?? null).filter(
        (slot) => slot !== null,
      );
      const limits = { mode: 'fixed' as const, timeout_ms: 10_000, max_rows: 10, max_bytes: MIB };
      const answers = await Promise.all(slots.map((slot) => slot.query(limits)));
      return answers.length === 8 * PLACES && !answers.includes(null);
    });
  const backends = async (where: string): Promise<number> => {
    const found = await database.run(
      `select count(*)::int as n from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and ${where}`,
    );
    return Number(found[0]?.['n']);
  };
  const running = `state = 'active' and query like '%pg_sleep%'`;

  test('each call has its own answer, and there are no more sessions than slots', async () => {
    await warm();
    const answers = await Promise.all(Array.from({ length: 400 }, (_, n) => ask(n, { w: n % 50 })));
    for (const [n, row] of answers.entries()) expect(row).toEqual({ n, d: 1, pad: 'x'.repeat(n % 50) });
    expect(source.sessions()).toBe(PLACES);
    expect(queue.counters()).toMatchObject({ active: 0, waiting: 0, rejected: 0 });
  });

  test('pipeline slots are a few for each session, and only for a statement that is measured as fast', async () => {
    const bound = bind(statement, { n: 5, d: 1, w: 0, s: 0 });
    expect(source.pipelineSlot?.(bound, PLACES)).toBeNull();
    await warm();
    const slots = [];
    for (let slot = source.pipelineSlot?.(bound, PLACES); slot; slot = source.pipelineSlot?.(bound, PLACES)) slots.push(slot);
    expect(slots.length).toBe(8 * PLACES);
    expect(source.pipelineSlot?.({ ...bound, text: `${bound.text} limit 1` }, PLACES)).toBeNull();
    const limits = { mode: 'fixed' as const, timeout_ms: 1_000, max_rows: 10, max_bytes: MIB };
    const answers = await Promise.all(slots.map((slot) => slot.query(limits)));
    expect(answers.map((answer) => answer?.rows[0]?.['n'])).toEqual(slots.map(() => 5));
  });

  test('pipelined calls are counted among those that wait', async () => {
    await warm();
    const slow = Array.from({ length: PLACES }, (_, n) => ask(n, { s: 0.3 }));
    const more = Array.from({ length: 5 }, (_, n) => ask(n));
    await Promise.resolve();
    expect(queue.counters()).toMatchObject({ active: PLACES, waiting: 5 });
    await Promise.all([...slow, ...more]);
    expect(queue.counters()).toMatchObject({ active: 0, waiting: 0 });
  });

  test('an error is told to its own call alone', async () => {
    await warm();
    const codes = await Promise.all(Array.from({ length: 60 }, (_, n) => codeOf(ask(n, { d: n % 3 === 0 ? 0 : 1 }))));
    expect(codes).toEqual(Array.from({ length: 60 }, (_, n) => (n % 3 === 0 ? 'sql_error' : 'answered')));
    expect(source.sessions()).toBe(PLACES);
  });

  test('a call behind one that turns out slow goes on elsewhere', async () => {
    await warm();
    const stop = new Stop();
    const slow = codeOf(ask(0, { s: 30, signal: stop }));
    const quick = await Promise.all(Array.from({ length: 40 }, (_, n) => ask(n)));
    expect(quick.map((row) => row?.['n'])).toEqual(Array.from({ length: 40 }, (_, n) => n));
    expect(await backends(running)).toBe(1);
    stop.abort();
    expect(await slow).toBe('cancelled');
    await until(async () => (await backends(running)) === 0);
  });

  test('an answer behind a slow one is fetched over another session, and the slow one is cancelled', async () => {
    await warm();
    const limits = { mode: 'fixed' as const, timeout_ms: 10_000, max_rows: 10, max_bytes: MIB };
    // The first one goes alone; the others together, without a Sync between.
    const slots = [0, 0, 20, 0].map((s) => source.pipelineSlot?.(bind(statement, { n: 1, d: 1, w: 0, s }), 1));
    const asked = slots.map((slot) => codeOf(Promise.resolve(slot?.query(limits))));
    expect(await Promise.all(asked)).toEqual(['answered', 'displaced', 'displaced', 'displaced']);
    await until(async () => (await backends(running)) === 0);
    expect((await ask(3))?.['n']).toBe(3);
  });

  test('a caller who leaves behind another is gone at once, and who leaves while running is cancelled', async () => {
    await warm();
    const stops = Array.from({ length: 12 }, () => new Stop());
    const calls = stops.map((signal, n) => codeOf(ask(n, { s: n < PLACES ? 20 : 0, signal })));
    for (const signal of stops.slice(PLACES + 1)) signal.abort();
    expect(await Promise.all(calls.slice(PLACES + 1))).toEqual(Array.from({ length: 12 - PLACES - 1 }, () => 'cancelled'));
    await until(async () => (await backends(running)) === PLACES);
    for (const signal of stops.slice(0, PLACES)) signal.abort();
    expect(await Promise.all(calls)).toEqual([
      ...Array.from({ length: PLACES }, () => 'cancelled'),
      'answered',
      ...Array.from({ length: 12 - PLACES - 1 }, () => 'cancelled'),
    ]);
    await until(async () => (await backends(running)) === 0);
    expect((await ask(7))?.['n']).toBe(7);
  });

  test('the time limit of one ends it alone, in the database too', async () => {
    await warm();
    const strict = plan({ timeout_ms: 150 });
    const codes = await Promise.all(
      Array.from({ length: 20 }, (_, n) => codeOf(n === 0 ? ask(n, { s: 30, by: strict }) : ask(n, { by: strict }))),
    );
    expect(codes).toEqual(['timeout', ...Array.from({ length: 19 }, () => 'answered')]);
    await until(async () => (await backends(running)) === 0);
  });

  test('an answer that is larger than allowed ends its session, and nobody else notices', async () => {
    await warm();
    const narrow = plan({ max_bytes: 10_000 });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => (n === 3 ? ask(n, { w: 20 * MIB, by: narrow }) : ask(n, { by: narrow }))),
    );
    expect(answers.map((row) => row?.['n'])).toEqual(Array.from({ length: 20 }, (_, n) => (n === 3 ? undefined : n)));
  });

  test('what was displaced by the end of another is cancelled in the database too', async () => {
    await warm();
    const stop = new Stop();
    const limits = { mode: 'fixed' as const, timeout_ms: 10_000, max_rows: 10, max_bytes: MIB };
    const slots = [20, 20, 20].map((s) => source.pipelineSlot?.(bind(statement, { n: 1, d: 1, w: 0, s }), 1));
    const asked = slots.map((slot) => codeOf(Promise.resolve(slot?.query({ ...limits, signal: stop }))));
    await until(async () => (await backends(running)) === 1);
    stop.abort();
    expect(new Set(await Promise.all(asked)).has('answered')).toBe(false);
    await until(async () => (await backends(running)) === 0);
  });

  test('the time limit of a call that has not begun is not over: it is better run elsewhere', async () => {
    await warm();
    const stop = new Stop();
    const slots = [20, 0].map((s) => source.pipelineSlot?.(bind(statement, { n: 1, d: 1, w: 0, s }), 1));
    const limits = { mode: 'fixed' as const, max_rows: 10, max_bytes: MIB };
    const slow = codeOf(Promise.resolve(slots[0]?.query({ ...limits, timeout_ms: 10_000, signal: stop })));
    expect(await codeOf(Promise.resolve(slots[1]?.query({ ...limits, timeout_ms: 1 })))).toBe('displaced');
    stop.abort();
    expect(await slow).toBe('cancelled');
  });

  test('what was lost before it began is measured as fast still', async () => {
    await warm();
    const other = { text: `select 1 as one from pg_sleep(0)`, values: [], types: [] };
    const limits = { mode: 'fixed' as const, max_rows: 10, max_bytes: 10_000, timeout_ms: 10_000 };
    // On a busy machine it takes more of them until the statement counts as fast.
    await until(async () => {
      await Promise.all(Array.from({ length: PLACES }, () => source.query(other, limits)));
      const slot = source.pipelineSlot?.(other, 1);
      await slot?.query(limits);
      return slot;
    });
    const flood = source.pipelineSlot?.(bind(statement, { n: 1, d: 1, w: 20 * MIB, s: 0 }), 1);
    const behind = Array.from({ length: 7 }, () => source.pipelineSlot?.(other, 1));
    const asked = [flood, ...behind].map((slot) => codeOf(Promise.resolve(slot?.query(limits))));
    expect(await Promise.all(asked)).toEqual(['answered', ...behind.map(() => 'displaced')]);
    await until(() => source.sessions() < PLACES);
    expect(source.pipelineSlot?.(other, PLACES)?.query(limits)).toBeInstanceOf(Promise);
  });

  test('sessions that the database ends lose no call', async () => {
    await warm();
    const killing = new AbortController();
    const killer = (async () => {
      while (!killing.signal.aborted) {
        await database.run(
          `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() limit 1`,
        );
      }
    })();
    for (let round = 0; round < 20; round++) {
      const calls = Array.from({ length: 20 }, (_, n) => ask(n).then((row) => row?.['n'], codeOfError));
      for (const [n, answer] of (await Promise.all(calls)).entries())
        expect([n, 'database_unreachable'].includes(answer as number)).toBe(true);
    }
    killing.abort();
    await killer;
    expect((await ask(1))?.['n']).toBe(1);
    expect(queue.counters()).toMatchObject({ active: 0, waiting: 0 });
  }, 60_000);

  test('whatever happens to others, a call has its own answer or its own error', async () => {
    await warm();
    const random = createRandom().whole;
    const jobs = Array.from({ length: 600 }, (_, n) => {
      const fate = random(20);
      const signal = new Stop();
      if (fate === 0) setTimeout(() => signal.abort(), random(40));
      const asked = { d: fate === 1 ? 0 : 1, s: fate === 2 ? random(60) / 1_000 : 0, w: fate === 3 ? random(50_000) : 0, signal };
      return ask(n, asked).then(
        (row) => (row?.['n'] === n && row['pad'] === 'x'.repeat(asked.w) ? 'answered' : `wrong: ${JSON.stringify(row)}`),
        (error: unknown) => `${codeOfError(error)} ${fate}`,
      );
    });
    const outcomes = new Set(await Promise.all(jobs));
    expect([...outcomes].filter((outcome) => !['answered', 'cancelled 0', 'sql_error 1'].includes(outcome))).toEqual([]);
    expect(queue.counters()).toMatchObject({ active: 0, waiting: 0, rejected: 0, timed_out: 0 });
    expect(source.sessions()).toBeLessThanOrEqual(PLACES);
  });
});

const codeOfError = (error: unknown): string => (error instanceof AppError ? error.code : String(error));
