import { cellText } from '#core/lib/csv.ts';
import { toNumber, toTime } from '#core/lib/view/table.ts';

/** The type of a time axis. Days and months have no zone. */
export type TimeAxis = 'months' | 'days' | 'moments';

/** Formats cells and axes for a locale and a time zone. */
export interface Format {
  /**
   * A cell, by the kind of its column.
   * @param style a number format of the view.
   */
  cell(value: unknown, kind: 'number' | 'time' | 'text', style?: string | null): string;
  /** A number on an axis or beside a part: short. */
  axis(value: number, style: string | null): string;
  /** A time on an axis that spans `span` milliseconds. */
  tick(time: number, span: number, of: TimeAxis): string;
  count(value: number): string;
  compare(a: string, b: string): number;
}

const STYLES: Readonly<Record<string, Intl.NumberFormatOptions>> = {
  integer: { maximumFractionDigits: 0 },
  decimal: { minimumFractionDigits: 2, maximumFractionDigits: 2 },
  compact: { notation: 'compact', maximumFractionDigits: 1 },
  percent: { style: 'percent', maximumFractionDigits: 1 },
};
/** A currency code may be incomplete while it is typed: an invalid one leaves numbers unformatted. */
const CURRENCY = /^[A-Z]{3}$/;
const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];
const MINUTE_MS = 60_000;
/** On an axis with a shorter span, labels are less than a minute apart. */
const FEW_MINUTES_MS = 10 * MINUTE_MS;
const DAY_MS = 86_400_000;
/** Enough digits for round numbers, and for small ones. */
const SHORT: Intl.NumberFormatOptions = { maximumSignificantDigits: 4 };

export function createFormat(locale?: string, time_zone?: string): Format {
  const language = known(locale, (tag) => new Intl.NumberFormat(tag)) ?? 'en';
  const zone = known(time_zone, (timeZone) => new Intl.DateTimeFormat('en', { timeZone })) ?? 'UTC';
  const numbers = new Map<string, Intl.NumberFormat>();
  const written = (options: Intl.NumberFormatOptions): Intl.NumberFormat => {
    const key = JSON.stringify(options);
    const made = numbers.get(key) ?? new Intl.NumberFormat(language, options);
    numbers.set(key, made);
    return made;
  };
  const date = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeZone: 'UTC' });
  const moments = (timeZone: string) =>
    (['short', 'medium'] as const).map(
      (timeStyle) => new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle, timeZone }),
    );
  const [zoned, unzoned] = [moments(zone), moments('UTC')];
  const collator = new Intl.Collator(language, { numeric: true });

  const bytes = (value: number): string => {
    const step = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(Math.abs(value) || 1) / 3)));
    return `${written(SHORT).format(value / 1000 ** step)} ${UNITS[step]}`;
  };
  const styled = (value: unknown, style: string, extra: Intl.NumberFormatOptions = {}): string => {
    const number = toNumber(value) ?? 0;
    if (style === 'bytes') return bytes(number);
    const options = STYLES[style] ?? (CURRENCY.test(style) ? { style: 'currency', currency: style } : {});
    // A number that arrived as a string is formatted with all its digits.
    return written({ ...options, ...extra }).format(value as number);
  };
  const time = (value: unknown): string => {
    const text = cellText(value);
    const ms = toTime(value);
    if (ms === null || text.length < 10) return text;
    if (text.length === 10) return date.format(ms);
    const [whole_minutes, with_seconds] = /(?:Z|[+-]\d\d(?::?\d\d)?)$/.test(text) ? zoned : unzoned;
    return (ms % MINUTE_MS === 0 ? whole_minutes : with_seconds)?.format(ms) ?? text;
  };
  return {
    cell(value, kind, style = null) {
      if (value === null || value === undefined) return '';
      if (kind === 'time') return time(value);
      return kind === 'number' && style !== null && toNumber(value) !== null ? styled(value, style) : cellText(value);
    },
    axis(value, style) {
      const short: Intl.NumberFormatOptions = { notation: 'compact', ...SHORT };
      if (style === 'percent') return styled(value, style, SHORT);
      if (style === null || style === 'integer' || style === 'decimal') return written(short).format(value);
      return styled(value, style, { ...short, minimumFractionDigits: 0 });
    },
    tick(ms, span, of) {
      const of_days = of !== 'moments' || span > 2 * DAY_MS;
      const options: Intl.DateTimeFormatOptions =
        of === 'months' || span > 300 * DAY_MS
          ? { year: 'numeric', month: 'short' }
          : of_days
            ? { month: 'short', day: 'numeric' }
            : { hour: '2-digit', minute: '2-digit', ...(span < FEW_MINUTES_MS ? { second: '2-digit' } : {}) };
      return new Intl.DateTimeFormat(language, { ...options, timeZone: of_days ? 'UTC' : zone }).format(ms);
    },
    count: (value) => written({}).format(value),
    compare: (a, b) => collator.compare(a, b),
  };
}

/** The locale or time zone that the client sent, if this browser supports it. */
function known(name: string | undefined, check: (name: string) => unknown): string | undefined {
  if (name === undefined) return undefined;
  try {
    check(name);
    return name;
  } catch {
    return undefined;
  }
}
