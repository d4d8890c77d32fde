import { afterEach, beforeEach, expect, test } from 'bun:test';
import { createInsightCache, readUsage } from '#core/observe/insights/usage-of-period.ts';
import type { Platform } from '#core/platform/platform.ts';
import type { Schema } from '#core/store/schema.ts';
import { testPlatform } from '#test/support/platform.ts';

let app: Platform;
beforeEach(async () => {
  app = await testPlatform();
});
afterEach(() => app.close());

const NOTHING = { refused: 0, no_slot: 0, timeout: 0, cancelled: 0, rate_limited: 0 };
const hour = (start: string, name: string, calls: number): Schema['usage_series']['$inferInsert'] => ({
  seconds: 3_600,
  start: `2026-${start}:00:00.000Z`,
  kind: 'tool',
  name,
  calls,
  errors: 1,
  ...NOTHING,
  duration_ms: calls * 10,
  rows: calls * 2,
  bytes: calls * 100,
  last_called_at: `2026-${start}:30:00.000Z`,
  histogram: {},
});

test('calls of hours that ended long ago and of the last hours are added up, also at the second reading', async () => {
  const rows = [
    hour('02-27T10', 'find', 5),
    hour('02-27T10', 'list', 3),
    hour('03-01T11', 'find', 7),
    hour('03-01T11', 'new', 1),
  ];
  await app.store.write((tx) => tx.insert(app.store.tables.usage_series).values(rows));
  const context = { ...app, insights: createInsightCache() };
  const read = () => readUsage(context, '7d', '2026-02-22T12:00:00.000Z', new Map());
  const first = await read();
  expect(first.get('find')).toEqual({ ...NOTHING, calls: 12, errors: 2, duration_ms: 120, rows: 24, bytes: 1_200 });
  expect(first.get('list')).toMatchObject({ calls: 3, errors: 1 });
  expect(first.get('new')).toMatchObject({ calls: 1 });
  // The hours that ended are not read again, and nothing is added to them.
  expect(await read()).toEqual(first);
});
