import type { SqlDialect } from '#core/lib/sql/dialect.ts';
import { asJson } from './placeholder.ts';
import { scanSqlite } from './scanner.ts';
import { asText, doubled, type PageKey, type PageRules } from '#core/lib/sql/page-keys.ts';

const SPACED = "'[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9] [0-9][0-9]:[0-9][0-9]*'";

/** A moment in the notation of results: with a `T` where SQLite writes a space. */
const momentOf = (name: string): string =>
  `CASE WHEN typeof(${name}) = 'text' AND ${name} GLOB ${SPACED} THEN substr(${name}, 1, 10) || 'T' || substr(${name}, 12) ELSE ${name} END`;

const SQLITE_PAGES: PageRules = {
  quote: doubled('"'),
  same: 'IS',
  nulls_last: true,
  key(name, { type, kind }) {
    if (kind === 'string') {
      return { by: `CAST(${name} AS TEXT) COLLATE BINARY`, value: (value) => [value], bound: 'string', write: asText };
    }
    const declared = type.trim();
    if (kind !== 'bigint' && !/^bool/i.test(declared)) return null;
    const by = /^(?:datetime|timestamp)/i.test(declared) ? `(${momentOf(name)})` : `${name} COLLATE BINARY`;
    const write: PageKey['write'] = (cell) => (typeof cell === 'boolean' ? String(Number(cell)) : asText(cell));
    // Not cast: most SQLite columns store both numbers and texts, and order numbers first.
    return { by, value: (value) => [value], bound: 'number', write };
  },
};

/** libSQL uses this grammar too. */
export const SQLITE_DIALECT: SqlDialect = {
  name: 'sqlite',
  scan: scanSqlite,
  // `?` numbers list elements automatically; numbered ones are looked up one by one (1.5 s for 10 000 in libSQL).
  placeholder: (number, element, type) => asJson(element >= 0 ? '?' : `?${number}`, type),
  unlimited: { limit: -1, offset: 0 },
  reuses: true,
  no_row: '(SELECT NULL WHERE FALSE)',
  question_operator: false,
  bracket_names: true,
  hint: null,
  pages: SQLITE_PAGES,
  classifier: async () => ({ rules: (await import('./rules.ts')).SQLITE_RULES }),
};
