import { expect, test } from 'bun:test';
import { parseDatetime } from '#core/lib/text/datetimes.ts';
import { fromPicker, fromRelative, toPicker } from '#ui/src/features/run/date-text.ts';
import { toArguments } from '#ui/src/features/run/arguments.ts';

/** In the zone of the machine, as a person reads it. */
const NOW = new Date(2026, 1, 28, 15, 4, 5);

test('words and distances become days and moments', () => {
  const days = ['today', 'Yesterday', 'tomorrow', 'now', '-7d', '+2 w'].map((text) => fromRelative(text, 'date', NOW));
  expect(days).toEqual(['2026-02-28', '2026-02-27', '2026-03-01', '2026-02-28', '2026-02-21', '2026-03-14']);
  const momentOf = (text: string) => Date.parse(fromRelative(text, 'datetime', NOW) ?? '');
  expect(momentOf('now')).toBe(NOW.getTime());
  expect(momentOf('-3h')).toBe(NOW.getTime() - 3 * 3_600_000);
  expect(momentOf('today')).toBe(new Date(2026, 1, 28).getTime());
  expect(['-3h', '2026-02-28', 'soon', '', '7d'].map((text) => fromRelative(text, 'date', NOW))).toEqual(
    Array(5).fill(undefined),
  );
});

test('the picker begins with the text, and keeps its zone', () => {
  expect([toPicker('2026-03-31', 'date', NOW), toPicker('today', 'date', NOW), toPicker('soon', 'date', NOW)]).toEqual([
    '2026-03-31',
    '2026-02-28',
    '',
  ]);
  expect(toPicker('2026-03-31 08:30+02', 'datetime', NOW)).toBe('2026-03-31T08:30:00');
  expect(fromPicker('2026-03-31T08:31', '2026-03-31 08:30+02', 'datetime')).toBe('2026-03-31T08:31:00+02:00');
  expect(fromPicker('2026-03-31T08:31:09', '', 'datetime')).toBe('2026-03-31T08:31:09');
  expect([fromPicker('2026-03-31', 'x', 'date'), fromPicker('', '2026-03-31T08:30Z', 'datetime')]).toEqual(['2026-03-31', '']);
});

test('arguments have the exact text that a call takes', () => {
  const parameters = [
    { name: 'day', type: 'date', description: '', required: true },
    { name: 'at', type: 'datetime', description: '', required: true },
    { name: 'word', type: 'string', description: '', required: true },
  ] as const;
  const { values, errors } = toArguments(parameters, { day: 'yesterday', at: 'now', word: 'today' }, NOW);
  expect([values['day'], values['word'], errors]).toEqual(['2026-02-27', 'today', {}]);
  expect(parseDatetime(String(values['at']))).not.toBeNull();
  const typed = toArguments(parameters, { day: 'soon', at: '2026-03-31T08:30:00+02:00', word: '' }, NOW);
  expect([typed.values['at'], typed.errors]).toEqual(['2026-03-31T08:30:00+02:00', { day: 'Enter a day, such as 2026-03-31.' }]);
});
