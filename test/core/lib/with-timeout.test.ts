import { expect, test } from 'bun:test';
import { withTimeout } from '#core/lib/with-timeout.ts';

test('what is done in time counts, and what comes late does not', async () => {
  expect(await withTimeout(Promise.resolve('done'), 1_000, () => 'late')).toBe('done');
  expect(await withTimeout(new Promise(() => undefined), 5, () => 'late')).toBe('late');
  const failing = Bun.sleep(20).then(() => {
    throw new Error('nobody waits for this');
  });
  expect(await withTimeout(failing, 5, () => 'late')).toBe('late');
  await Bun.sleep(30);
});

test('a failure of either is the failure of both', async () => {
  const messageOf = (error: unknown) => (error instanceof Error ? error.message : '');
  expect(await withTimeout(Promise.reject(new Error('work')), 1_000, () => 'late').catch(messageOf)).toBe('work');
  const late = () => {
    throw new Error('late');
  };
  expect(await withTimeout(new Promise(() => undefined), 5, late).catch(messageOf)).toBe('late');
});
