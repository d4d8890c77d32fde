import { sliceOf } from '../characters.ts';
import { csvField } from '#core/lib/csv.ts';
import { type Budget, fault } from '../budget.ts';
import { toDecimal } from '../numbers/decimal.ts';
import { isNumeric, isTruthy, kindOf, numberOf, textOf } from '../values.ts';
import { fixed } from './number.ts';

const DIRECTIVE = /%(?:%|([-+ 0]{0,4})(\d{0,4})(?:\.(\d{1,2}))?([a-zA-Z]))/g;

/** Formats as Python's `%` operator, with the directives s d i f e g x X o and their flags, width and precision. */
export function printf(budget: Budget, format: string, values: readonly unknown[]): string {
  budget.text(format.length);
  let next = 0;
  const filled = format.replace(DIRECTIVE, (directive: string, flags: string, width: string, precision: string, kind: string) => {
    if (directive === '%%') return '%';
    if (next >= values.length) throw fault('The format has more directives than values.');
    const places = precision === undefined ? undefined : Number(precision);
    const text = (Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined)?.(budget, values[next++], places);
    if (text === undefined) throw fault('The format has a directive that is not one of s d i f e g x X o.');
    const wide = Number(width);
    budget.text(Math.max(wide, text.length));
    return pad(text, flags, wide, kind !== 's');
  });
  if (next < values.length) throw fault('The format has fewer directives than values.');
  budget.text(filled.length);
  return filled;
}

type Writer = (budget: Budget, value: unknown, places: number | undefined) => string;

const integer: Writer = (_, value) => {
  const exact = toDecimal(typeof value === 'boolean' ? Number(value) : value);
  if (exact === null) throw fault(`A number is needed here, not ${kindOf(value)}.`);
  return String(exact.units / 10n ** BigInt(exact.scale));
};
const inBase =
  (base: number): Writer =>
  (budget, value, places) =>
    BigInt(integer(budget, value, places)).toString(base);

const KINDS: Readonly<Record<string, Writer>> = {
  s: (budget, value, places) => sliceOf(budget, textOf(budget, value), 0, places),
  d: integer,
  i: integer,
  f: (_, value, places = 6) => {
    const exact = toDecimal(value);
    if (exact === null) throw fault(`A number is needed here, not ${kindOf(value)}.`);
    return fixed(exact, places);
  },
  e: (_, value, places = 6) => exponent(numberOf(value).toExponential(places)),
  g: (_, value, places = 6) => shortest(numberOf(value), Math.max(1, places)),
  x: inBase(16),
  X: (budget, value, places) => inBase(16)(budget, value, places).toUpperCase(),
  o: inBase(8),
};

/** At most `digits` significant digits, with an exponent in the same cases as Python. */
function shortest(value: number, digits: number): string {
  const [mantissa = '', power = '0'] = value.toExponential(digits - 1).split('e');
  const plain = Number(power) >= -4 && Number(power) < digits;
  const text = plain ? value.toFixed(Math.max(0, digits - 1 - Number(power))) : mantissa;
  const bare = text.includes('.') ? text.replace(/\.?0+$/, '') : text;
  return plain ? bare : exponent(`${bare}e${power}`);
}

const exponent = (text: string): string => text.replace(/e([+-])(\d)$/, 'e$10$2');

function pad(text: string, flags: string, width: number, is_number: boolean): string {
  const signed = is_number && !text.startsWith('-') ? (flags.includes('+') ? '+' : flags.includes(' ') ? ' ' : '') + text : text;
  if (flags.includes('-')) return signed.padEnd(width);
  if (!flags.includes('0') || !is_number) return signed.padStart(width);
  const sign = /^[-+ ]?/.exec(signed)?.[0] ?? '';
  return sign + signed.slice(sign.length).padStart(width - sign.length, '0');
}

const DATE = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?\s?(Z|[+-]\d{2}(?::?\d{2})?)?)?$/;
const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

/** Formats an ISO 8601 date or time with the directives of `strftime`, in its time zone. Other text stays unchanged. */
export function formatDate(budget: Budget, text: string, format: string): string {
  const parts = text.length > 40 ? null : DATE.exec(text);
  if (parts === null) return text;
  const [, year = '', month = '', day = '', hour = '00', minute = '00', second = '00', fraction = '', zone = ''] = parts;
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day) || Number(hour) > 23) return text;
  date.setUTCFullYear(Number(year));
  const weekday = DAYS[date.getUTCDay()] ?? '';
  const month_name = MONTHS[date.getUTCMonth()] ?? '';
  const twelve = String(Number(hour) % 12 || 12).padStart(2, '0');
  const day_of_year = 1 + (date.getTime() - Date.UTC(Number(year), 0, 1)) / 86_400_000;
  const offset = zone === 'Z' ? '+0000' : zone.replace(':', '').padEnd(zone === '' ? 0 : 5, '0');
  const written: Readonly<Record<string, string>> = {
    Y: year,
    y: year.slice(2),
    m: month,
    d: day,
    e: day.replace(/^0/, ' '),
    H: hour,
    I: twelve,
    M: minute,
    S: second,
    f: fraction.slice(0, 6).padEnd(6, '0'),
    p: Number(hour) < 12 ? 'AM' : 'PM',
    B: month_name,
    b: month_name.slice(0, 3),
    A: weekday,
    a: weekday.slice(0, 3),
    j: String(day_of_year).padStart(3, '0'),
    u: String(date.getUTCDay() || 7),
    w: String(date.getUTCDay()),
    F: `${year}-${month}-${day}`,
    T: `${hour}:${minute}:${second}`,
    z: offset,
    Z: zone === 'Z' ? 'UTC' : '',
    '%': '%',
  };
  budget.text(format.length * 10);
  return format.replace(/%(-?)([a-zA-Z%])/g, (_, bare: string, letter: string) => {
    const part = Object.hasOwn(written, letter) ? written[letter] : undefined;
    if (part === undefined) throw fault('The date format has an unknown directive; see the list in the documentation.');
    return bare === '-' && isNumeric(part) ? String(Number(part)) : part;
  });
}

/** RFC 4180: none is an empty field, an empty text a quoted one, and lines end in CR LF. */
export function csv(
  budget: Budget,
  rows: readonly (readonly unknown[])[],
  head: readonly string[] | null,
  separator: string,
): string {
  const special = new RegExp(`["\\r\\n${separator === '\t' ? '\\t' : `\\${separator}`}]`);
  const field = (cell: unknown) => {
    if (cell === null || cell === undefined) return '';
    const text = textOf(budget, cell);
    budget.text(text.length);
    return csvField(text, special);
  };
  let output = '';
  for (const row of head === null ? rows : [head, ...rows]) {
    output += `${row.map(field).join(separator)}\r\n`;
    budget.text(output.length > budget.limits.output ? output.length : row.length);
  }
  return output;
}

const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

/** A GitHub-flavoured table. `|`, `\` and line ends in cells are escaped. */
export function markdownTable(budget: Budget, rows: readonly (readonly unknown[])[], head: readonly string[]): string {
  const field = (cell: unknown) => {
    const text = textOf(budget, cell);
    budget.text(text.length);
    return /[\\|\r\n]/.test(text) ? text.replace(/[\\|]/g, '\\$&').replace(/\r\n|\r|\n/g, '<br>') : text;
  };
  let output = `${line(head.map(field))}\n${line(head.map(() => '---'))}`;
  for (const row of rows) {
    output += `\n${line(row.map(field))}`;
    budget.text(output.length > budget.limits.output ? output.length : row.length);
  }
  return output;
}

export const isYes = (value: unknown, otherwise: boolean): boolean => (value === undefined ? otherwise : isTruthy(value));
