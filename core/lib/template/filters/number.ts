import { type Budget, fault } from '../budget.ts';
import { decimalText, ROUNDINGS, roundDecimal, toDecimal, type Decimal } from '../numbers/decimal.ts';
import { oneOf, type Operation, whole, word } from '../operation.ts';
import { isNone, isNumeric, isTruthy, kindOf, numberOf } from '../values.ts';

export const NUMBER_FILTERS: Readonly<Record<string, Operation>> = {
  abs: { params: [], run: (_, value) => (isNone(value) ? null : Math.abs(numberOf(value))) },
  int: { params: ['default', 'base'], run: toInteger },
  float: {
    params: ['default'],
    run: (_, value, [otherwise]) =>
      typeof value === 'boolean' || isNumeric(value) ? numberOf(value) : isNone(otherwise) ? 0 : otherwise,
  },
  round: {
    params: ['precision', 'method'],
    run(_, value, [precision, method]) {
      if (isNone(value)) return null;
      const places = whole(precision, 0, 'precision', -20, 20);
      return Number(decimalText(roundDecimal(decimal(value), places, oneOf(method, ROUNDINGS, 'method'))));
    },
  },
  format_number: { params: ['decimals', 'thousands', 'point'], run: formatNumber },
  filesizeformat: { params: ['binary'], run: formatFileSize },
};

function decimal(value: unknown): Decimal {
  const result = toDecimal(typeof value === 'boolean' ? Number(value) : value);
  if (result === null) throw fault(`A number is needed here, not ${kindOf(value)}.`);
  return result;
}

/** An integer that is too large for a number stays a text. */
function toInteger(_: Budget, value: unknown, [otherwise, base]: readonly unknown[]): unknown {
  const radix = whole(base, 10, 'base', 2, 36);
  if (radix !== 10 && typeof value === 'string') {
    const text = value.slice(0, 20).replace(/^0[xob]/i, '');
    const number = /^[0-9a-z]+$/i.test(text) ? Number.parseInt(text, radix) : Number.NaN;
    return Number.isSafeInteger(number) ? number : (otherwise ?? 0);
  }
  if (typeof value === 'boolean') return Number(value);
  const exact = toDecimal(value);
  if (exact === null) return otherwise ?? 0;
  const text = String(exact.units / 10n ** BigInt(exact.scale));
  return Number.isSafeInteger(Number(text)) ? Number(text) : text;
}

/** `1234.5|format_number(2)` returns `1,234.50`. Exact also for decimals as text. */
function formatNumber(budget: Budget, value: unknown, [decimals, thousands, point]: readonly unknown[]): string {
  if (isNone(value)) return '';
  const exact = decimal(value);
  const text = isNone(decimals) ? decimalText(exact) : fixed(exact, whole(decimals, 0, 'decimals', 0, 20));
  const [whole_part = '', fraction] = text.split('.');
  const separator = word(thousands, ',', 'thousands').slice(0, 10);
  budget.text(text.length * (1 + separator.length));
  const grouped = whole_part.replace(/\B(?=(?:\d{3})+$)/g, () => separator);
  return fraction === undefined ? grouped : grouped + word(point, '.', 'point').slice(0, 10) + fraction;
}

/** Exactly `places` digits after the point, halves rounded away from zero. */
export const fixed = (value: Decimal, places: number): string => decimalText(roundDecimal(value, places, 'common'), places);

function formatFileSize(_: Budget, value: unknown, [binary]: readonly unknown[]): string {
  if (isNone(value)) return '';
  const bytes = numberOf(value);
  const base = isTruthy(binary) ? 1_024 : 1_000;
  if (bytes === 1) return '1 Byte';
  if (bytes < base) return `${Math.trunc(bytes)} Bytes`;
  const power = Math.min(8, Math.floor(Math.log(bytes) / Math.log(base) + 1e-9));
  return `${(bytes / base ** power).toFixed(1)} ${'kMGTPEZY'.charAt(power - 1).replace('k', base === 1_000 ? 'k' : 'K')}${base === 1_000 ? 'B' : 'iB'}`;
}
