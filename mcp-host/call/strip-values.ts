import { onOneLine } from '#core/engines/shared/bounded-text.ts';
import { isMembers } from '#mcp-host/protocol/messages.ts';

/** A value that is as short as a word is taken for one unless it stands in quotes. */
const SURELY_A_VALUE = 6;
/** Values that are looked for in one sentence. */
const MOST_VALUES = 1_000;
/** Characters of values that are compared with one message. */
const MOST_COMPARED = 4_000_000;
/** Characters of a value that a database may have written in its own way. */
const MOST_REWRITTEN = 8_000;

/** A sentence of a database without the values that it repeats. Null: there are too many to look for. */
export function stripValues(text: string, values: unknown): string | null {
  const words = wordsIn(values);
  if (words === null) return null;
  const letters = words.map((word) => lettersOf(word.slice(0, MOST_REWRITTEN)));
  const kept = words.reduce(withoutValue, withoutEnd(text, letters));
  return withoutParts(kept, createIsPart(words, letters));
}

/** Every text and number in it, however deep; null: there are too many. */
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
  const kept = text.replaceAll(word, '…');
  // Messages are told on one line, and so are the values in them.
  const line = word.includes('\n') ? onOneLine(word) : '';
  return line.length < SURELY_A_VALUE ? kept : kept.replaceAll(line, '…');
}

/** A message ends within a value where the database, or we, cut it: behind a quote that nothing closes stands its beginning. */
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

/** The letters and digits of a text: whatever a database does to quotes, blanks and lines. */
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
 * A database shortens a long value, or names the part of it that it did not understand, or writes it in its own way. What is too much
 * to compare is left out like a part of a value.
 */
function createIsPart(words: readonly string[], letters: readonly Letters[]): (inside: string) => boolean {
  const long = words.filter(({ length }) => length > SURELY_A_VALUE);
  const all = [...long, ...letters.map(({ plain }) => plain)].reduce((sum, { length }) => sum + length, 0);
  let left = MOST_COMPARED;
  return (inside) => {
    // Looking for one text in another is not linear for every pair of texts.
    left -= all * (1 + inside.length / 256);
    if (left < 0 || long.some((value) => inside.length < value.length && value.includes(inside))) return true;
    const { plain, unescaped } = lettersOf(inside);
    if (plain.length < SURELY_A_VALUE) return false;
    return letters.some((value) => value.plain.includes(plain) || value.unescaped.includes(unescaped));
  };
}

function withoutParts(text: string, isPart: (inside: string) => boolean): string {
  let kept = '';
  let at = 0;
  while (at < text.length) {
    const quote = text.charAt(at);
    const ends = quote === '"' || quote === "'" ? endsOf(text, at + 1, quote) : [];
    const end = ends.find((place) => place - at > SURELY_A_VALUE && isPart(insideOf(text, at + 1, place)));
    if (end !== undefined) kept += `${quote}…${text.charAt(end)}`;
    else kept += text.slice(at, (ends.at(-1) ?? at) + 1);
    at = (end ?? ends.at(-1) ?? at) + 1;
  }
  return kept;
}

/** Where a quoted text may end: with quotes inside that are escaped or doubled, or at the next quote; nowhere: with the message. */
function endsOf(text: string, from: number, quote: string): number[] {
  const next = text.indexOf(quote, from);
  if (next < 0) return [text.length];
  let place = from;
  while (place < text.length) {
    const here = text.charAt(place);
    if (here === quote && text.charAt(place + 1) !== quote) break;
    place += here === quote || here === '\\' ? 2 : 1;
  }
  return place < text.length && place !== next ? [place, next] : [next];
}

/** We end every sentence with a full stop. */
const insideOf = (text: string, from: number, to: number): string => {
  const inside = text.slice(from, to);
  return to < text.length ? inside : inside.replace(/[.…]$/, '');
};
