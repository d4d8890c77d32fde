import { describe, expect, setSystemTime, test } from 'bun:test';
import { createMemoryKv } from '#core/cluster/memory.ts';
import { createRecentMap } from '#core/lib/recent-map.ts';

const MINUTE_MS = 60_000;

test('counters of 150 000 strangers cost the last one no more than the first', async () => {
  const kv = createMemoryKv(() => 0);
  const add = async (from: number, to: number): Promise<number> => {
    const began = performance.now();
    for (let n = from; n < to; n++) await kv.increment(`login:account:${n}`, MINUTE_MS);
    return performance.now() - began;
  };
  await add(0, 120_000);
  expect(await add(120_000, 150_000)).toBeLessThan(3_000);
}, 60_000);

test('a counter in use survives whatever strangers add', async () => {
  const kv = createMemoryKv(() => 0);
  for (let round = 0; round < 6; round++) {
    expect((await kv.increment('login:address:192.0.2.1', MINUTE_MS)).count).toBe(round + 1);
    for (let n = 0; n < 40_000; n++) await kv.increment(`login:account:${round}:${n}`, MINUTE_MS);
  }
});

test('an attempt that is taken back after its window has ended is no credit for the next window', async () => {
  let now = 0;
  const kv = createMemoryKv(() => now);
  await kv.increment('key', MINUTE_MS);
  now = MINUTE_MS + 1;
  await kv.increment('key', MINUTE_MS, -1);
  expect((await kv.increment('key', MINUTE_MS)).count).toBe(1);
  expect((await kv.increment('key', MINUTE_MS, -1)).count).toBe(0);
});

test('a clock that is set back by an hour does not make an hour of the minute', async () => {
  const kv = createMemoryKv();
  try {
    await kv.increment('login:address:192.0.2.1', MINUTE_MS);
    await kv.set('kept', '1', MINUTE_MS);
    setSystemTime(Date.now() - 60 * MINUTE_MS);
    expect((await kv.increment('login:address:192.0.2.1', MINUTE_MS)).resets_in_ms).toBeLessThanOrEqual(MINUTE_MS);
    setSystemTime(Date.now() + 120 * MINUTE_MS);
    expect((await kv.increment('login:address:192.0.2.1', MINUTE_MS)).count).toBe(3);
    expect(await kv.get('kept')).toBe('1');
  } finally {
    setSystemTime();
  }
});

describe('a map of recent keys', () => {
  test('holds the last ones used, and at most twice its limit', () => {
    const map = createRecentMap<number>(10);
    for (let n = 0; n < 1_000; n++) {
      map.set(`k${n}`, n);
      map.get('k0');
      expect(map.size()).toBeLessThanOrEqual(20);
    }
    expect(map.get('k0')).toBe(0);
    for (let n = 991; n < 1_000; n++) expect(map.get(`k${n}`)).toBe(n);
    expect(map.get('k500')).toBeUndefined();
  });

  test('forgets what is deleted, in either half', () => {
    const map = createRecentMap<number>(2);
    for (const [n, key] of ['a', 'b', 'c'].entries()) map.set(key, n);
    map.delete('a');
    map.delete('c');
    expect([map.get('a'), map.get('b'), map.get('c'), map.size()]).toEqual([undefined, 1, undefined, 1]);
    map.clear();
    expect(map.size()).toBe(0);
  });
});
