import { expect, test } from 'bun:test';
import { createFormat } from '#ui/src/view/format.ts';

const DAY_MS = 86_400_000;
const NEW_YEAR = Date.UTC(2026, 0, 1);

test('an axis of one or two days names days in every time zone, one of moments names hours', () => {
  const format = createFormat('en-US', 'America/New_York');
  for (const span of [1, DAY_MS, 5 * DAY_MS]) expect(format.tick(NEW_YEAR, span, 'days')).toBe('Jan 1');
  expect(format.tick(NEW_YEAR, DAY_MS, 'moments')).toBe('07:00 PM');
  expect(format.tick(NEW_YEAR, 400 * DAY_MS, 'days')).toBe('Jan 2026');
});

test('an axis of months names months, one of a few minutes names seconds', () => {
  const format = createFormat('en-US', 'UTC');
  expect(format.tick(NEW_YEAR, 60 * DAY_MS, 'months')).toBe('Jan 2026');
  expect(format.tick(NEW_YEAR + 5_000, 50_000, 'moments')).toBe('12:00:05 AM');
});

test('a cell keeps the seconds of its time', () => {
  const format = createFormat('en-US', 'UTC');
  expect(format.cell('2026-01-01T08:00:05Z', 'time')).toBe('Jan 1, 2026, 8:00:05 AM');
  expect(format.cell('2026-01-01T08:00:00Z', 'time')).toBe('Jan 1, 2026, 8:00 AM');
});

test.each([
  [0.000012, null, '0.000012'],
  [1_250_000, null, '1.25M'],
  [207_812.3, 'EUR', '€207.8K'],
  [0.00012, 'percent', '0.012%'],
  [1_250_000, 'bytes', '1.25 MB'],
  [12.5, 'integer', '12.5'],
])('%d on an axis of %p is %s', (value, style, text) => {
  expect(createFormat('en-US', 'UTC').axis(value, style)).toBe(text);
});
