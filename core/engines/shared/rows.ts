import type { Json } from './source.ts';

/** Names of the columns of a row object: a repeated name gets `_2`, `_3` …, and never one that another column has. */
export function uniqueNames(names: readonly string[]): string[] {
  const taken = new Set(names);
  const seen = new Set<string>();
  return names.map((name) => {
    if (!seen.has(name)) {
      seen.add(name);
      return name;
    }
    let count = 2;
    while (taken.has(`${name}_${count}`)) count++;
    const unique = `${name}_${count}`;
    taken.add(unique);
    return unique;
  });
}

/** A LIKE pattern for "contains", with `!` as the escape character because a backslash means different things in SQL modes. */
export function containsPattern(search: string): string {
  return `%${search.replace(/[!%_]/g, (character) => `!${character}`)}%`;
}

/** A value of a catalogue row as text; nothing is the empty string. */
export function textOf(value: Json | undefined): string {
  if (typeof value === 'string') return value;
  return value === null || value === undefined ? '' : JSON.stringify(value);
}

/** Reviver for `JSON.parse`: an integer beyond 2^53 becomes a string instead of another number. */
export function keepBigIntegers(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  return context?.source !== undefined && /^-?\d+$/.test(context.source) ? context.source : value;
}
