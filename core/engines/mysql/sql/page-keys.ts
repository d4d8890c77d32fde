import { asText, cast, doubled, type PageKey, type PageRules } from '#core/lib/sql/page-keys.ts';
import type { SqlNode } from '#core/lib/sql/statement.ts';

/** Compares UTF-8 bytes, because collations treat texts as equal that differ in letters or trailing spaces. */
const bytesOf = (text: string): string => `CAST(CONVERT(${text} USING utf8mb4) AS BINARY)`;

/** Keeps only digits, which MySQL reads as a moment or as a number. */
const digits: PageKey['write'] = (cell) => (typeof cell === 'string' ? cell.replaceAll(/[^\d.]/g, '') : cell);

/**
 * Valid dates are compared as dates, because MySQL compares only some columns as numbers with microseconds. An invalid date such
 * as `0000-00-00` cannot be cast, so it is compared as a number. The column is converted to a number too, because next to a bare
 * column MySQL 8 converts the number to a date and refuses it.
 */
const calendar = (by: string, type: string, number_type: string, more: Partial<PageKey> = {}): PageKey =>
  cast(by, number_type, {
    compare(operator, name) {
      const value: SqlNode[] = ['CAST(', name, ` AS ${type})`];
      const number: SqlNode[] = ['CAST(', name, ` AS ${number_type})`];
      return [
        '(',
        ...value,
        ` IS NOT NULL AND ${by} ${operator} `,
        ...value,
        ' OR ',
        ...value,
        ` IS NULL AND ${by} + 0 ${operator} `,
        ...number,
        ')',
      ];
    },
    write: digits,
    ...more,
  });
const moment = (by: string, more: Partial<PageKey> = {}): PageKey => calendar(by, 'DATETIME(6)', 'DECIMAL(20,6)', more);

const TYPES: Readonly<Record<string, (by: string) => PageKey>> = {
  // Not cast, because no DECIMAL type holds the values of all others.
  decimal: (by) => ({ by, value: (value) => [value], bound: 'number', write: asText }),
  date: (by) => calendar(by, 'DATE', 'SIGNED'),
  time: (by) => cast(by, 'TIME(6)'),
  datetime: (by) => moment(by),
  // In the time zone of the session.
  timestamp: (by) => moment(by, { bound: 'datetime', write: asText }),
};
const TEXTS: ReadonlySet<string> = new Set(['char', 'varchar', 'text', 'enum', 'set']);

export const MYSQL_PAGES: PageRules = {
  quote: doubled('`'),
  same: '<=>',
  nulls_last: false,
  key(name, { type, kind }) {
    if ((kind === 'integer' || kind === 'bigint') && !type.startsWith('bit')) {
      return cast(name, type.endsWith('unsigned') ? 'UNSIGNED' : 'SIGNED');
    }
    if (TEXTS.has(type)) {
      return cast(bytesOf(name), '', { value: (value) => ['CAST(CONVERT(', value, ' USING utf8mb4) AS BINARY)'] });
    }
    return TYPES[type]?.(name) ?? null;
  },
};
