import { expect, test } from 'bun:test';
import { createSavedCopies } from '#core/lib/saved-copies.ts';
import { until } from '#test/support/until.ts';

const full = (): Promise<never> => Promise.reject(Object.assign(new Error('no room at /data/host'), { code: 'ENOSPC' }));

function copies() {
  const changes: [name: string, failed: boolean][] = [];
  const saved = createSavedCopies({ onChange: (name, error) => changes.push([name, error !== null]), retry_ms: 5 });
  return { ...saved, changes };
}

test('a write that fails is repeated until it works, and named with its reason until then', async () => {
  const { save, faults, changes } = copies();
  let room = false;
  let writes = 0;
  await save('The list', async () => {
    writes += 1;
    if (!room) await full();
  });
  expect(faults()).toEqual(['The list could not be saved: the disk is full.']);
  await until(() => writes > 3);
  room = true;
  await until(() => faults().length === 0);
  expect(changes).toEqual([
    ['The list', true],
    ['The list', false],
  ]);
  const done = writes;
  await Bun.sleep(30);
  expect(writes).toBe(done);
});

test('a later write takes the place of one that failed, and waits for one that runs', async () => {
  const { save, faults } = copies();
  const order: string[] = [];
  await save('The list', async () => {
    order.push('first');
    await full();
  });
  const gate = Promise.withResolvers<void>();
  const second = save('The list', async () => {
    await gate.promise;
    order.push('second');
  });
  const third = save('The list', async () => void order.push('third'));
  gate.resolve();
  await Promise.all([second, third]);
  await Bun.sleep(30);
  expect(order.at(-1)).toBe('third');
  expect(order.filter((one) => one === 'first').length).toBeLessThan(3);
  expect(faults()).toEqual([]);
});

test('copies fail apart from each other, and a reason has no path', async () => {
  const { save, note, faults } = copies();
  await save('The list', full);
  note('The keys', new Error('/data/host/keys.json'));
  expect(faults()).toEqual([
    'The list could not be saved: the disk is full.',
    'The keys could not be saved: the log has the reason.',
  ]);
  note('The keys', null);
  expect(faults()).toHaveLength(1);
});
