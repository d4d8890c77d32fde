import { type Dialect, optionalBlocks, scanSql } from './scan.ts';

/** Formats a statement; the library is large and therefore loaded on demand. */
export type Formatter = (sql: string, dialect: Dialect) => string;

export async function loadFormatter(): Promise<Formatter> {
  const { clickhouse, duckdb, formatDialect, mysql, postgresql, sqlite } = await import('sql-formatter');
  const dialects = { clickhouse, duckdb, mysql, postgresql, sqlite };
  return (sql, dialect) =>
    formatDialect(sql, {
      dialect: dialects[dialect],
      paramTypes: { named: [':'] },
      keywordCase: 'preserve',
      tabWidth: 2,
      linesBetweenQueries: 1,
      expressionWidth: 70,
    });
}

const OPEN = '/*[[*/';
const CLOSE = '/*]]*/';

/**
 * Lays a statement out anew. Only space may change: when anything else would, or the text cannot be read, the answer is
 * undefined. Optional blocks travel as comments, which every grammar keeps.
 */
export function formatSql(sql: string, dialect: Dialect, format: Formatter): string | undefined {
  const blocks = optionalBlocks(sql, scanSql(sql, dialect));
  if (sql.includes(OPEN) || sql.includes(CLOSE)) return undefined;
  let prepared = sql;
  for (const { start, end } of blocks.toReversed()) {
    prepared = `${prepared.slice(0, start)} ${OPEN} ${prepared.slice(start + 2, end - 2)} ${CLOSE} ${prepared.slice(end)}`;
  }
  let formatted: string;
  try {
    formatted = format(prepared, dialect);
  } catch {
    return undefined;
  }
  const result = formatted
    .replaceAll(/\s*\/\*\[\[\*\/\s*?(\n[ \t]*)/g, '$1[[ ')
    .replaceAll(/\s*\/\*\]\]\*\//g, ' ]]')
    .replaceAll(OPEN, '[[')
    .trim();
  return withoutSpace(result) === withoutSpace(sql) && sameText(result, sql, dialect) ? result : undefined;
}

const withoutSpace = (sql: string): string => sql.replaceAll(/\s+/g, '');

/** Whitespace inside strings, names and comments is significant. */
function sameText(one: string, other: string, dialect: Dialect): boolean {
  const texts = (sql: string) =>
    scanSql(sql, dialect)
      .filter(({ kind }) => kind === 'string' || kind === 'identifier')
      .map(({ start, end }) => sql.slice(start, end));
  return texts(one).join('\0') === texts(other).join('\0');
}
