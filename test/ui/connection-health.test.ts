import { expect, test } from 'bun:test';
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
