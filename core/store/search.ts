import { and, type Column, desc, eq, is, or, type SQL, sql } from 'drizzle-orm';
import { PgColumn } from 'drizzle-orm/pg-core';
import { globContaining, regexContaining } from '#core/lib/text/search.ts';
import { searchWords } from '#core/lib/text/search.ts';

interface Searched {
  readonly name: Column;
  readonly title?: Column | undefined;
  readonly texts?: readonly Column[];
  /** Columns of lists, which are JSON text. */
  readonly lists?: readonly Column[];
}

/** Rows that have every word of the search in one of the columns. Undefined: all rows. `isFound` does the same with texts. */
export const foundIn = ({ name, title, texts = [], lists = [] }: Searched, search: string | undefined): SQL | undefined =>
  and(
    ...searchWords(search ?? '').map((word) =>
      or(
        ...[name, ...(title === undefined ? [] : [title]), ...texts].map((column) => contains(column, word)),
        // Characters between the elements of the list are not part of any element.
        ...(/[\p{L}\p{N}]/u.test(word) ? lists.map((column) => contains(column, JSON.stringify(word).slice(1, -1))) : []),
      ),
    ),
  );

/** The order of search results: an exact match of the name, then by the number of words in the name, then in the title. */
export function bestFirst({ name, title }: Searched, search: string | undefined): SQL[] {
  const words = searchWords(search ?? '');
  if (search === undefined || words.length === 0) return [];
  const in_title = (word: string) => (title === undefined ? sql`` : sql`when ${contains(title, word)} then 1`);
  const scores = words.map((word) => sql`case when ${contains(name, word)} then 2 ${in_title(word)} else 0 end`);
  return [desc(sql`case when ${eq(name, search)} then 1 else 0 end`), desc(sql.join(scores, sql` + `))];
}

/** Accents in stored texts may be separate characters. */
const contains = (column: Column, word: string): SQL | undefined =>
  or(
    ...[...new Set([word.normalize('NFC'), word.normalize('NFD')])].map((form) =>
      is(column, PgColumn) ? sql`${column} ~ ${regexContaining(form)}` : sql`${column} glob ${globContaining(form)}`,
    ),
  );
