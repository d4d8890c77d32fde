import { cut } from './shorten.ts';

/** The keys of an open object. Few are compared one by one, which is faster than a set. */
interface OpenObject {
  readonly few: string[];
  many: Set<string> | null;
}

const MOST_FEW = 12;

/**
 * The first key that an object of a JSON text has twice, at any depth; null: none. Parsers disagree on which of the two counts, so a
 * check and a statement could read different values. Linear in the length of the text. @param text that `JSON.parse` accepts.
 */
export function repeatedKey(text: string): string | null {
  /** The open objects; null for an open list. */
  const open: (OpenObject | null)[] = [];
  let object: OpenObject | null = null;
  let is_key = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const end = endOfString(text, at + 1);
      if (is_key && object !== null) {
        const raw = text.slice(at + 1, end);
        const key = raw.includes('\\') ? (JSON.parse(text.slice(at, end + 1)) as string) : raw;
        if (!addKey(object, key)) return key;
        is_key = false;
      }
      at = end;
    } else if (code === BRACE || code === BRACKET) {
      open.push(object);
      is_key = code === BRACE;
      object = is_key ? { few: [], many: null } : null;
    } else if (code === CLOSED_BRACE || code === CLOSED_BRACKET) {
      object = open.pop() ?? null;
      is_key = false;
    } else if (code === COMMA) is_key = object !== null;
  }
  return null;
}

/** @returns false: the object has it already. */
function addKey(object: OpenObject, key: string): boolean {
  const { few, many } = object;
  if (many === null ? few.includes(key) : many.has(key)) return false;
  if (many !== null) many.add(key);
  else if (few.push(key) > MOST_FEW) object.many = new Set(few);
  return true;
}

/** The sentence about such a key. @param where the text, as a sentence begins with it. */
export const repeatedKeySentence = (key: string, where = 'The body'): string =>
  `${where} has the key ${JSON.stringify(cut(key, LONGEST_KEY))} twice in one object. Send each key once.`;

const LONGEST_KEY = 100;

const [QUOTE, BACKSLASH, BRACE, BRACKET, CLOSED_BRACE, CLOSED_BRACKET, COMMA] = Array.from('"\\{[}],', (sign) =>
  sign.charCodeAt(0),
);

/** The position of the quote that ends a string. @param from the first position within it. */
function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (end - slashes > from && text.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}
