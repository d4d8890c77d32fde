import { expect, test } from 'bun:test';
import { disguisedAt, hiddenIn, hiddenInName, isFileNameSeen } from '#core/lib/text/hidden-characters.ts';

test.each([
  ['a lone carriage return', 'select 1 -- shown\rdelete from notes'],
  ['a bidirectional override', 'Orders \u202eexe.'],
  ['an isolate', 'Orders \u2066x\u2069'],
  ['a zero-width space', 'or\u200bders'],
  ['a byte order mark', '\ufefforders'],
  ['a tag character', 'orders\u{e0041}'],
  ['a filler of Hangul', 'orders\u3164'],
  ['a soft hyphen', 'or\u00adders'],
  ['a line separator', 'select 1 -- a\u2028b'],
  ['a form feed', 'select 1\fa'],
  ['a next line', 'select 1\u0085a'],
  ['a backspace', 'select 1\b'],
  ['blank lines', `select 1${'\n'.repeat(60)}; delete`],
  ['blank lines with spaces', `select 1${' \t\n'.repeat(60)}delete`],
  ['spaces in a row', `select 1${' '.repeat(300)}delete`],
  ['unusual spaces in a row', `select 1${'\u3000'.repeat(300)}delete`],
])('a text with %s is not what people see', (_, text) => expect(hiddenIn(text)).not.toBeNull());

test.each([
  'select 1\r\nfrom orders\n\twhere a = 1\n\n\n-- end',
  'Aufträge, bestellungen – „offen“',
  'سفارش‌های باز',
  'क्‍ष',
  '👩‍👩‍👧 family',
  'שלום and English',
])('%j is what people see', (text) => expect(hiddenIn(text)).toBeNull());

test.each(['ad\u200ea', '\u200fada', 'ada\u061c', 'a\u200dda', 'ada\u200d', '\u200cada', 'ada\u2800', 'a\u202eda', 'a\u200bda'])(
  'the name %j looks like another one',
  (name) => expect([hiddenInName(name) !== null, isFileNameSeen(`${name}.csv`)]).toEqual([true, false]),
);

test.each(['Zoë O’Neil', 'سفارش‌های باز', 'क्‍ष', '👩‍👩‍👧 family', 'שלום', 'orders 2024 (final)', '注文'])(
  'the name %j is what people see',
  (name) => {
    expect(hiddenInName(name)).toBeNull();
  },
);

test('names of look-alikes and hidden characters are found, those of one alphabet in a word are not', () => {
  for (const name of [
    '"user\u0455"',
    '"us\u200ber"',
    '"\u202euser"',
    'scor\u0435',
    '"\u03bfrders"',
    '"or\u00a0ders"',
    '"or\u200dders"',
  ]) {
    expect([name, disguisedAt(name) >= 0]).toEqual([name, true]);
  }
  for (const name of ['"order lines"', 'цена', '"цена_USD"', '"größe"', '"注文"', '"ü"', '"naïve"', '"Ελλάδα 2"', '"שם"']) {
    expect([name, disguisedAt(name)]).toEqual([name, -1]);
  }
});
