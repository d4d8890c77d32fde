import { textOf } from '../shared/rows.ts';
import type { Row } from '../shared/source.ts';

/** SQLite counts no row that REPLACE deletes to make room for another (sqlite.org/c3ref/changes.html). */
const REPLACES =
  /\b(?:or\s+replace|on\s+conflict\s+replace)\b|^\s*(?:with\b[\s\S]*\))?\s*replace\s+into\b|\bbegin\b[\s\S]*\breplace\s+into\b/i;
const SENTENCE = 'uses REPLACE, and SQLite does not count the rows that it deletes. Use INSERT … ON CONFLICT DO UPDATE instead.';

/** Why the changed rows of a statement cannot all be counted; a trigger or a table that it reaches may replace rows too. */
export async function replacesRows(
  text: string,
  look: (text: string, values: never[]) => Promise<Row[]>,
): Promise<string | null> {
  if (REPLACES.test(text)) return `This statement ${SENTENCE}`;
  const rows = await look("SELECT name, type, sql FROM sqlite_schema WHERE sql LIKE '%replace%'", []);
  const found = rows.find((row) => REPLACES.test(textOf(row['sql'])));
  return found === undefined ? null : `The ${textOf(found['type'])} ${textOf(found['name'])} ${SENTENCE}`;
}
