import { expect, test } from 'bun:test';
import type { FileFolder } from './files.ts';
import { READ, refusal, sql } from './suite.ts';
import { until } from '#test/support/until.ts';

/** What every engine promises whose statements run in a program of their own. @param endless runs until it is stopped. */
export function childSuite(files: FileFolder, children: () => number[], database: string, endless: string): void {
  test(`a runaway statement on ${database} is stopped when its caller goes away`, async () => {
    const source = files.open(database);
    const controller = new AbortController();
    const running = refusal(source.query(sql(endless), { ...READ, signal: controller.signal }));
    await until(() => children().length === 1);
    setTimeout(() => controller.abort(), 100);
    expect((await running).code).toBe('cancelled');
    expect((await refusal(source.query(sql('SELECT 1'), { ...READ, signal: AbortSignal.abort() }))).code).toBe('cancelled');
    await source.close();
  });

  test(`a runaway statement on ${database} does not hold up its neighbour`, async () => {
    const source = files.open(database, { pool_size: 2 });
    const controller = new AbortController();
    const running = refusal(source.query(sql(endless), { ...READ, signal: controller.signal }));
    expect((await source.query(sql('SELECT id FROM t'), READ)).rows).toEqual([{ id: 1 }]);
    expect(source.sessions()).toBe(2);
    controller.abort();
    expect((await running).code).toBe('cancelled');
    await source.close();
  });

  test(`a ${database} process killed from outside fails the call that it runs, and none while it is idle`, async () => {
    const source = files.open(database, { pool_size: 1 });
    const running = refusal(source.query(sql(endless), READ));
    await until(() => children().length === 1);
    await Bun.sleep(300);
    process.kill(children()[0]!, 'SIGKILL');
    expect(await running).toMatchObject({ code: 'database_unreachable', reason: 'failed' });
    expect((await source.query(sql('SELECT 1 AS a'), READ)).rows).toEqual([{ a: 1 }]);
    // Nobody has heard yet that it is dead.
    process.kill(children()[0]!, 'SIGKILL');
    expect((await source.query(sql('SELECT 1 AS a'), READ)).rows).toEqual([{ a: 1 }]);
    await source.close();
  });
}
