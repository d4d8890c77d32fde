import { expect, setSystemTime, test } from 'bun:test';
import type { TestResult } from '#core/contract/definitions/connections.ts';
import type { Call } from '#ui/src/api.ts';
import { createConnectionHealth } from '#ui/src/pages/connections/connection-health.ts';

const result = (success: boolean): TestResult => ({ success, message: '', latency_ms: 1, warnings: [] });

test('a test of earlier settings that answers late does not replace the test of what was saved since', async () => {
  const answers: ((answer: TestResult) => void)[] = [];
  const call = ((_: string) => new Promise<TestResult>((resolve) => answers.push(resolve))) as unknown as Call;
  const health = createConnectionHealth(call);

  const opened = health.check(['shop']);
  const saved = health.check(['shop']);
  answers[1]?.(result(false));
  await saved;
  expect(health.of('shop')?.state).toBe('unreachable');
  answers[0]?.(result(true));
  await opened;
  expect(health.of('shop')?.state).toBe('unreachable');
});

test('a connection is tested again once an unreachable server answers, and when its last test is old', async () => {
  const waiting: (() => void)[] = [];
  const timers = { set: (run: () => void) => waiting.push(run), clear: () => void waiting.splice(0) };
  let answer = () => Promise.reject<TestResult>(new TypeError('no connection'));
  let is_here = true;
  const call = (() => answer()) as unknown as Call;
  const health = createConnectionHealth(call, { here: () => is_here, timers });
  expect(health.isDue('shop')).toBe(true);
  await health.check(['shop', 'stock']);
  expect(health.of('shop')?.state).toBe('unknown');
  expect(waiting).toHaveLength(1);
  answer = () => Promise.resolve(result(true));
  // Nobody looks.
  is_here = false;
  waiting.shift()?.();
  expect(health.of('shop')?.state).toBe('unknown');
  is_here = true;
  waiting.shift()?.();
  await Bun.sleep(1);
  expect([health.of('shop')?.state, health.of('stock')?.state]).toEqual(['connected', 'connected']);
  expect(waiting).toHaveLength(0);
  expect(health.isDue('shop')).toBe(false);
  setSystemTime(Date.now() + 3_600_000);
  expect(health.isDue('shop')).toBe(true);
  setSystemTime();
});
