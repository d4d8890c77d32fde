import { expect, test } from 'bun:test';
import { createRests, createSlices } from '#core/lib/slices.ts';

/** Steps of another request that are done while some work is. */
async function stepsBeside(turn: () => Promise<void>): Promise<number> {
  let steps = 0;
  const work = new AbortController();
  const request = (async () => {
    for (; !work.signal.aborted; steps++) await new Promise((resolve) => setImmediate(resolve));
  })();
  for (let n = 0; n < 40; n++) {
    const begun = performance.now();
    while (performance.now() - begun < 1);
    await turn();
  }
  work.abort();
  await request;
  return steps;
}

test('work in slices gives a request a step after each of them', async () => {
  const steps = await stepsBeside(createSlices(5));
  expect(steps).toBeGreaterThanOrEqual(5);
});

test('work that nobody waits for gives a request many steps after each slice', async () => {
  const steps = await stepsBeside(createRests({ after_ms: 5, for_ms: 10 }));
  expect(steps).toBeGreaterThan(100);
});
