import { expect, test } from 'bun:test';
import { createFormat } from '#ui/src/view/format.ts';

const DAY_MS = 86_400_000;
const NEW_YEAR = Date.UTC(2026, 0, 1);

test('an axis of one or two days names days in every time zone, one of moments names hours', () => {
  const format = createFormat('en-US', 'America/New_York');
  for (const span of [1, DAY_MS, 5 * DAY_MS]) expect(format.tick(NEW_YEAR, span, true)).toBe('Jan 1');
  expect(format.tick(NEW_YEAR, DAY_MS, false)).toBe('07:00 PM');
  expect(format.tick(NEW_YEAR, 400 * DAY_MS, true)).toBe('Jan 2026');
});
