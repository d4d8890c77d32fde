import { cast, doubled, type PageKey, type PageRules } from '#core/lib/sql/page-keys.ts';

/** Bytes of UTF-8: collations call texts equal that differ in letters or in spaces at their end. */
const bytesOf = (text: string): string => `CAST(CONVERT(${text} USING utf8mb4) AS BINARY)`;

/** A moment of the session's own zone, as the server writes it. */
const withoutT = (cell: Parameters<PageKey['write']>[0]) => (typeof cell === 'string' ? cell.replace('T', ' ') : cell);

const TYPES: Readonly<Record<string, (by: string) => PageKey>> = {
  decimal: (by) => cast(by, 'DECIMAL(65,30)'),
  date: (by) => cast(by, 'DATE'),
  time: (by) => cast(by, 'TIME(6)'),
  datetime: (by) => cast(by, 'DATETIME(6)', { write: withoutT }),
  timestamp: (by) => cast(by, 'DATETIME(6)', { bound: 'datetime' }),
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
