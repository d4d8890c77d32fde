import { AppError } from '#core/errors.ts';
import type { Lexeme } from '#core/lib/sql/tokenize.ts';
import { lexemes } from '#core/lib/sql/classify-tokens.ts';
import { textOf } from '../shared/rows.ts';
import type { Row } from '#core/lib/sql/result.ts';
import { SQLITE_DIALECT } from './dialect.ts';

const SENTENCE = 'uses REPLACE, and SQLite does not count the rows that it deletes. Use INSERT … ON CONFLICT DO UPDATE instead.';

/**
 * Why the changed rows of a statement cannot all be counted: it, a reached trigger or a reached table may use REPLACE. SQLite
 * does not count rows that REPLACE deletes (sqlite.org/c3ref/changes.html).
 */
export async function replacesRows(
  text: string,
  look: (text: string, values: never[]) => Promise<Row[]>,
): Promise<string | null> {
  if (replaces(text)) return `This statement ${SENTENCE}`;
  const rows = await look("SELECT name, type, sql FROM sqlite_schema WHERE sql LIKE '%replace%'", []);
  const found = rows.find((row) => replaces(textOf(row['sql'])));
  return found === undefined ? null : `The ${textOf(found['type'])} ${textOf(found['name'])} ${SENTENCE}`;
}

/** A text that cannot be tokenized may contain REPLACE. */
function replaces(text: string): boolean {
  try {
    const tokens = lexemes(text, SQLITE_DIALECT);
    return tokens.some((_, at) => isReplace(tokens, at));
  } catch (error) {
    if (error instanceof AppError) return /replace/i.test(text);
    throw error;
  }
}

/** True for `OR REPLACE`, `ON CONFLICT REPLACE` and `REPLACE INTO`, not for the function or a column of that name. */
function isReplace(tokens: readonly Lexeme[], at: number): boolean {
  const [before, word, behind] = [tokens[at - 1], tokens[at], tokens[at + 1]];
  if (word?.kind !== 'word' || word.text !== 'replace') return false;
  if (before?.text === 'conflict' || behind?.text === 'into') return true;
  return before?.text === 'or' && (behind?.name ?? '') !== '';
}
