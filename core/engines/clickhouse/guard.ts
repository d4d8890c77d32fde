import { AppError } from '#core/errors.ts';
import { classifyTokens, lexemes } from '#core/lib/sql/classify-tokens.ts';
import type { Lexeme } from '#core/lib/sql/tokenize.ts';
import { CLICKHOUSE_DIALECT } from './dialect.ts';
import { CLICKHOUSE_RULES } from './rules.ts';

export const READS_ONLY = 'ClickHouse connections are read-only: a tool can hold one SELECT or WITH statement.';

/**
 * Refuses statements that `readonly = 1` permits: KILL of other callers' queries, functions that read files, tables about the
 * server. Throws `not_read_only` or `sql_error`.
 */
export function checkText(text: string): void {
  const tokens = scanned(text);
  const last = tokens.findIndex(({ kind }) => kind === 'separator');
  if (last >= 0 && last < tokens.length - 1) {
    throw new AppError('sql_error', 'Only one statement can be run at a time; remove what follows the first one.');
  }
  const { command, forbidden, read_only } = classifyTokens(tokens, CLICKHOUSE_RULES);
  if (!CLICKHOUSE_RULES.reads.has(command)) throw new AppError('not_read_only', READS_ONLY);
  if (forbidden !== null) throw new AppError('sql_error', forbidden);
  if (!read_only) throw new AppError('not_read_only', READS_ONLY);
}

function scanned(text: string): Lexeme[] {
  try {
    return lexemes(text, CLICKHOUSE_DIALECT);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { position } = error;
    throw new AppError('sql_error', error.detail, position === undefined ? {} : { position });
  }
}
