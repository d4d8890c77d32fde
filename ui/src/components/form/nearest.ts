import { compileSearch } from '#core/lib/text/search.ts';

/** The first that hold what was typed, those that begin with it before the others: a browser takes a minute to draw 10,000. */
export function nearest<T>(all: readonly T[], textOf: (one: T) => string, typed: string, most: number): T[] {
  const start = typed.trim().toLowerCase();
  const begins = (one: T): boolean => textOf(one).toLowerCase().startsWith(start);
  const matches = compileSearch(typed);
  const found = all.filter((one) => matches(textOf(one)));
  return [...found.filter(begins), ...found.filter((one) => !begins(one))].slice(0, most);
}
