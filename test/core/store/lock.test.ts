import { expect, test } from 'bun:test';
import { createLock } from '#core/store/open.ts';

const LOCKS = 100;

test('work runs in the order in which it was asked for, also after work that failed', async () => {
  const lock = createLock();
  const order: number[] = [];
  const gate = Promise.withResolvers<void>();
  const asked = [
    lock(async () => {
      await gate.promise;
      order.push(1);
      throw new Error('failed');
    }),
    lock(async () => order.push(2)),
  ];
  expect(lock.busy()).toBe(true);
  gate.resolve();
  expect((await Promise.allSettled(asked)).map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  expect([order, lock.busy()]).toEqual([[1, 2], false]);
});

test('a lock does not keep what its last work answered', async () => {
  const locks = Array.from({ length: LOCKS }, createLock);
  const answers = await Promise.all(locks.map(async (lock) => new WeakRef(await lock(async () => ({ large: true })))));
  await Bun.sleep(0);
  Bun.gc(true);
  // The collector may take some words of the stack for references.
  expect(answers.filter((answer) => answer.deref() !== undefined).length).toBeLessThan(LOCKS / 2);
  expect(locks.some((lock) => lock.busy())).toBe(false);
});
