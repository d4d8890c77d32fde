import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { runEvery } from '#core/platform/run-every.ts';
import { signal } from '#core/platform/signals.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { namedStores } from '#test/support/metadata.ts';
import { until } from '#test/support/until.ts';

describe.each([...namedStores])('regular work (%s)', (metadata) => {
  let t: TestApp;
  beforeEach(async () => {
    t = await testApp({}, undefined, { metadata });
  });
  afterEach(() => t.close());

  test('that fails is logged with the cause, without values and with little of its statement, and runs again', async () => {
    const secret = 'value-of-a-parameter';
    let runs = 0;
    const work = async () => {
      runs += 1;
      const names = sql.raw(Array.from({ length: 60 }, (_, n) => `no_such_column_${n}`).join(', '));
      await t.app.store.write((tx) =>
        tx
          .select({ n: sql`${names}` })
          .from(t.app.store.tables.meta)
          .where(sql`key = ${secret}`),
      );
    };
    const stop = runEvery(t.app, { every_ms: 10, what: 'reading a column', work, at_once: true });
    const failures = () => t.log.filter(({ message }) => message === 'reading a column failed');
    await until(() => runs > 1 && failures().length > 1);
    stop();
    const reason = String(failures()[0]?.fields['reason']);
    expect(reason).toMatch(/no such column: no_such_column_0|column "no_such_column_0" does not exist/);
    expect(reason).not.toContain(secret);
    expect(reason).not.toContain('no_such_column_59');
    expect(reason.length).toBeLessThan(400);
  });

  test('that is idle runs again after a write or a signal, and always while the last write is not known', async () => {
    let [written, runs]: [string | null, number] = ['a first time', 0];
    const app = { ...t.app, store: { ...t.app.store, lastWrite: () => written } };
    const every_ms = 5;
    let turns = 0;
    const beside = setInterval(() => (turns += 1), every_ms);
    const stop = runEvery(app, {
      every_ms,
      what: 'being idle',
      work: async () => {
        runs += 1;
        return 'idle';
      },
      at_once: true,
      wake: 'names',
    });
    const passed = (n: number) => until(() => turns >= n);
    await passed(10);
    expect(runs).toBe(1);
    await signal(t.app, 'names');
    await until(() => runs === 2);
    await passed(turns + 10);
    expect(runs).toBe(2);
    written = 'a second time';
    await until(() => runs === 3);
    await passed(turns + 10);
    expect(runs).toBe(3);
    written = null;
    await until(() => runs > 5);
    stop();
    clearInterval(beside);
  });
});
