import { onOneLine } from '#core/engines/shared/bounded-text.ts';
import { isMembers } from '#mcp-host/protocol/messages.ts';

/** Shorter values are treated as ordinary words unless they are in quotes. */
const SURELY_A_VALUE = 6;
/** Most values to look for in one sentence. */
const MOST_VALUES = 1_000;
/** Most characters of values to compare with one message. */
const MOST_COMPARED = 4_000_000;
/** Characters of a value that are compared without quotes, blanks and escapes, because databases rewrite values. */
const MOST_REWRITTEN = 8_000;

/** A database message without the values that it repeats. Null: there are too many values to look for. */
export function stripValues(text: string, values: unknown): string | null {
  const words = wordsIn(values);
  if (words === null) return null;
  const letters = words.map((word) => lettersOf(word.slice(0, MOST_REWRITTEN)));
  const shortened = words.reduce(withoutValue, withoutEnd(text, letters));
  return withoutParts(shortened, createIsPart(words, letters));
}

/** Every text and number in the values, at any depth; null: there are too many. */
function wordsIn(values: unknown): string[] | null {
  const words = new Set<string>();
  const rest: unknown[] = [values];
  for (let n = 0; n < rest.length; n++) {
    const value = rest[n];
    const held = Array.isArray(value) ? value : isMembers(value) ? Object.values(value) : [];
    if (rest.length + held.length > 2 * MOST_VALUES) return null;
    for (const one of held) rest.push(one);
    if ((typeof value === 'string' && value !== '') || typeof value === 'number') words.add(String(value));
    if (words.size > MOST_VALUES) return null;
  }
  return [...words];
}

function withoutValue(text: string, word: string): string {
  if (word.length < SURELY_A_VALUE) return text.replaceAll(`"${word}"`, '"…"').replaceAll(`'${word}'`, "'…'");
  const stripped = text.replaceAll(word, '…');
  // Messages are joined into one line, and so are the values in them.
  const line = word.includes('\n') ? onOneLine(word) : '';
  return line.length < SURELY_A_VALUE ? stripped : stripped.replaceAll(line, '…');
}

/**
 * Removes the beginning of a value after a quote without an end: the database or Sluice may have cut the message inside a value.
 */
function withoutEnd(text: string, values: readonly Letters[]): string {
  let rest = lettersOf(text).plain;
  let from = 0;
  for (const { index } of text.matchAll(/["'`(]/g)) {
    rest = rest.slice(plainOf(text.slice(from, index)).length);
    from = index;
    if (rest.length < SURELY_A_VALUE) break;
    const begins = (value: string) => value.length > rest.length && value.startsWith(rest);
    if (values.some(({ plain, unescaped }) => begins(plain) || begins(unescaped))) return `${text.slice(0, index + 1)}…`;
  }
  return text;
}

/** The letters and digits of a text, which stay the same when a database rewrites quotes, blanks and lines. */
interface Letters {
  readonly plain: string;
  /** Without escapes, such as the two characters of `\n`. */
  readonly unescaped: string;
}
const plainOf = (text: string): string => text.replaceAll(/[^\p{L}\p{N}]+/gu, '');
function lettersOf(text: string): Letters {
  const plain = plainOf(text);
  const unescaped = text.includes('\\') ? plainOf(text.replaceAll(/\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|.)/gis, '')) : plain;
  return { plain, unescaped };
}

/**
 * Finds parts of values: a database may shorten a long value, quote only the part that it could not parse, or rewrite it. A text
 * that is too long to compare counts as a part of a value.
 */
function createIsPart(words: readonly string[], letters: readonly Letters[]): (inside: string) => boolean {
  const long = words.filter(({ length }) => length > SURELY_A_VALUE);
  const all = [...long, ...letters.map(({ plain }) => plain)].reduce((sum, { length }) => sum + length, 0);
  let left = MOST_COMPARED;
  return (inside) => {
    // Searching one text in another is not linear for every pair of texts.
    left -= all * (1 + inside.length / 256);
    if (left < 0 || long.some((value) => inside.length < value.length && value.includes(inside))) return true;
    const { plain, unescaped } = lettersOf(inside);
    if (plain.length < SURELY_A_VALUE) return false;
    return letters.some((value) => value.plain.includes(plain) || value.unescaped.includes(unescaped));
  };
}

function withoutParts(text: string, isPart: (inside: string) => boolean): string {
  let stripped = '';
  let at = 0;
  while (at < text.length) {
    const quote = text.charAt(at);
    const ends = quote === '"' || quote === "'" ? endsOf(text, at + 1, quote) : [];
    const end = ends.find((index) => index - at > SURELY_A_VALUE && isPart(insideOf(text, at + 1, index)));
    if (end !== undefined) stripped += `${quote}…${text.charAt(end)}`;
    else stripped += text.slice(at, (ends.at(-1) ?? at) + 1);
    at = (end ?? ends.at(-1) ?? at) + 1;
  }
  return stripped;
}

/**
 * Where a quoted text may end: after escaped or doubled quotes, or at the next quote. Without another quote: at the end of the
 * message.
 */
function endsOf(text: string, from: number, quote: string): number[] {
  const next = text.indexOf(quote, from);
  if (next < 0) return [text.length];
  let index = from;
  while (index < text.length) {
    const here = text.charAt(index);
    if (here === quote && text.charAt(index + 1) !== quote) break;
    index += here === quote || here === '\\' ? 2 : 1;
  }
  return index < text.length && index !== next ? [index, next] : [next];
}

/** The text inside quotes; at the end of a message without the full stop that Sluice adds. */
const insideOf = (text: string, from: number, to: number): string => {
  const inside = text.slice(from, to);
  return to < text.length ? inside : inside.replace(/[.…]$/, '');
};
