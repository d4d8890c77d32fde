import { cut } from './shorten.ts';

/**
 * The first key that an object of a JSON text has twice, at any depth; null: none. Parsers disagree on which of the two counts, so a
 * check and a statement could read different values. Linear in the length of the text. @param text that `JSON.parse` accepts.
 */
export function repeatedKey(text: string): string | null {
  /** The keys of the open objects; null for an open list. */
  const open: (Set<string> | null)[] = [];
  let keys: Set<string> | null = null;
  let is_key = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const { end, escaped } = endOfString(text, at + 1);
      if (is_key && keys !== null) {
        const key = escaped ? (JSON.parse(text.slice(at, end + 1)) as string) : text.slice(at + 1, end);
        if (keys.has(key)) return key;
        keys.add(key);
        is_key = false;
      }
      at = end;
    } else if (code === BRACE || code === BRACKET) {
      open.push(keys);
      keys = code === BRACE ? new Set() : null;
      is_key = code === BRACE;
    } else if (code === CLOSED_BRACE || code === CLOSED_BRACKET) {
      keys = open.pop() ?? null;
      is_key = false;
    } else if (code === COMMA) is_key = keys !== null;
  }
  return null;
}

/** The sentence about such a key. @param where the text, as a sentence begins with it. */
export const repeatedKeySentence = (key: string, where = 'The body'): string =>
  `${where} has the key ${JSON.stringify(cut(key, LONGEST_KEY))} twice in one object. Send each key once.`;

const LONGEST_KEY = 100;

const [QUOTE, BACKSLASH, BRACE, BRACKET, CLOSED_BRACE, CLOSED_BRACKET, COMMA] = Array.from('"\\{[}],', (sign) =>
  sign.charCodeAt(0),
);

function endOfString(text: string, from: number): { readonly end: number; readonly escaped: boolean } {
  let escaped = false;
  for (let at = from; ; at += 1) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) {
      escaped = true;
      at += 1;
    } else if (code === QUOTE || at >= text.length) return { end: at, escaped };
  }
}
