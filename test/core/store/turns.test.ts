import { expect, test } from 'bun:test';
import { AppError } from '#core/errors.ts';
import type { TurnRequest } from '#core/store/store.ts';
import { createTurnLock } from '#core/store/turns.ts';

const codeOf = (error: unknown) => (error instanceof AppError ? error.code : error);

/** A lock whose work is noted, and work that has its turn until `end` is called. */
async function busyLock() {
  const lock = createTurnLock();
  const done: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = lock(() => gate.promise, { turn: 'switch', by: 'Ada' });
  const queue = (name: string, request: Partial<TurnRequest> = {}) =>
    lock(async () => void done.push(name), { turn: 'switch', ...request }).catch(codeOf);
  return { lock, done, first, queue, end: gate.resolve };
}

test('urgent work goes first, other work in the order of the calls, and work that fails ends its turn', async () => {
  const { lock, done, first, queue, end } = await busyLock();
  const fail = async () => {
    done.push('failed');
    throw new Error('failed');
  };
  const failing = lock(fail, { turn: 'switch' }).catch(codeOf);
  const rest = [queue('deploy'), queue('stop', { urgent: true }), queue('rollback', { urgent: true }), queue('later')];
  end();
  await Promise.all([first, failing, ...rest]);
  expect(done).toEqual(['stop', 'rollback', 'failed', 'deploy', 'later']);
  expect(lock.busy()).toBe(false);
});

test('late work is refused with the holder, and that of a vanished client is dropped', async () => {
  const { lock, done, first, queue, end } = await busyLock();
  const client = new AbortController();
  const late = lock(async () => void done.push('late'), { turn: 'switch', wait_ms: 20 }).catch((error: unknown) => error);
  const gone = queue('gone', { signal: client.signal });
  const patient = queue('patient', { wait_ms: 60_000 });
  client.abort();
  expect(await queue('already gone', { signal: client.signal })).toBe('cancelled');
  expect(await gone).toBe('cancelled');
  expect(await late).toMatchObject({
    code: 'conflict',
    detail: expect.stringMatching(/that Ada began at \S+ on the server \S+ /),
  });
  expect(lock.busy()).toBe(true);
  end();
  await Promise.all([first, patient]);
  expect(done).toEqual(['patient']);
});
