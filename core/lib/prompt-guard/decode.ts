export type Encoding = 'base64' | 'hex' | 'percent' | 'entities' | 'escapes' | 'rot13' | 'reversed';

export interface Decoded {
  readonly encoding: Encoding;
  readonly text: string;
}

/** Shorter texts cannot contain an instruction. */
const SHORTEST = 8;

const BASE64 = /[A-Za-z0-9+/_-]{16,65536}={0,2}/g;
const HEX = /(?:0x|\\x)?[0-9a-fA-F]{2}(?:(?:[ :,]|\\x|0x){0,2}[0-9a-fA-F]{2}){7,32768}/g;
const PERCENT = /(?:%[0-9a-fA-F]{2}|[\w.+-]){8,65536}/g;
const ENTITIES =
  /&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|lt|gt|amp|quot|apos|nbsp|lowbar|colon|excl|period|comma|sol|lbrack|rbrack|vert);?/g;
/** `\x` before many digits does not escape a letter. It starts binary data in the notation of PostgreSQL. */
const ESCAPES =
  /\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x(?![0-9a-fA-F]{8})([0-9a-fA-F]{2})|([0-3][0-7]{2}))/g;
const NAMED: Readonly<Record<string, string>> = {
  lt: '<',
  gt: '>',
  amp: '&',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  lowbar: '_',
  colon: ':',
  excl: '!',
  period: '.',
  comma: ',',
  sol: '/',
  lbrack: '[',
  rbrack: ']',
  vert: '|',
};

/**
 * Decodes the encoded parts of a text, one layer deep. Parts with the same encoding are joined, so that scanning the result takes
 * time linear in its length. Only readable text is returned.
 */
export function decode(text: string): Decoded[] {
  const found: Decoded[] = [];
  const add = (encoding: Encoding, decoded: string) => {
    if (decoded.length >= SHORTEST && decoded !== text) found.push({ encoding, text: decoded });
  };
  add('base64', each(text, BASE64, fromBase64));
  add('hex', each(text, HEX, fromHex));
  if (text.includes('%')) add('percent', each(text, PERCENT, fromPercent));
  if (text.includes('&')) add('entities', fromEntities(text));
  if (text.includes('\\')) add('escapes', fromEscapes(text));
  return found;
}

function each(text: string, pattern: RegExp, read: (part: string) => string | undefined): string {
  return (text.match(pattern) ?? [])
    .map(read)
    .filter((part) => part !== undefined)
    .join('\n\n');
}

/** Words, in ROT13, that most instructions contain. Decoding every text would take too long. */
const ROT13_WORDS = [
  'ignore',
  'disregard',
  'instruct',
  'prompt',
  'password',
  'user',
  'system',
  'secret',
  'tool',
  'reveal',
  'the ',
  'you ',
  'and ',
  'your ',
  'without',
].map(rot13);

/** @param folded folded text. */
export function looksLikeRot13(folded: string): boolean {
  return ROT13_WORDS.some((word) => folded.includes(word));
}

export function rot13(text: string): string {
  return text.replace(/[a-z]/gi, (letter) => {
    const code = letter.charCodeAt(0);
    return String.fromCharCode((code & 31) <= 13 ? code + 13 : code - 13);
  });
}

export function reversed(text: string): string {
  return Array.from(text).toReversed().join('');
}

function fromBase64(part: string): string | undefined {
  // Words, paths and names without both cases are not base64 of a sentence.
  if (!/[A-Z]/.test(part) || !/[a-z]/.test(part)) return undefined;
  // Preceding letters shift the groups of four. UTF-16 has a zero byte next to every ASCII letter.
  for (let shift = 0; shift < 4; shift += 1) {
    const bytes = Buffer.from(part.slice(shift), 'base64');
    const text = readable(bytes.includes(0) ? bytes.filter((byte) => byte !== 0) : bytes);
    if (text !== undefined) return text;
  }
  return undefined;
}

function fromHex(part: string): string | undefined {
  return readable(Buffer.from(part.replaceAll(/0x|\\x|[ :,]/g, ''), 'hex'));
}

function fromPercent(part: string): string | undefined {
  if ((part.match(/%[0-9a-fA-F]{2}/g) ?? []).length < 3) return undefined;
  const bytes = part
    .replaceAll('+', ' ')
    .replace(/%([0-9a-fA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return readable(Buffer.from(bytes, 'latin1'));
}

function fromEntities(text: string): string {
  let count = 0;
  const decoded = text.replace(ENTITIES, (entity) => {
    const name = entity.slice(1).replace(/;$/, '');
    const read = NAMED[name] ?? (name.startsWith('#') ? fromCode(name.slice(1)) : undefined);
    if (read === undefined) return entity;
    count += 1;
    return read;
  });
  return count > 0 ? decoded : '';
}

function fromCode(code: string): string | undefined {
  const hexadecimal = code.startsWith('x') || code.startsWith('X');
  return fromCodePoint(hexadecimal ? Number.parseInt(code.slice(1), 16) : Number(code));
}

function fromCodePoint(code: number): string | undefined {
  return code >= 9 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) ? String.fromCodePoint(code) : undefined;
}

function fromEscapes(text: string): string {
  let count = 0;
  const decoded = text.replace(ESCAPES, (escape, ...groups: (string | undefined)[]) => {
    const index = groups.slice(0, 5).findIndex((group) => group !== undefined);
    const read = fromCodePoint(Number.parseInt(groups[index] ?? '', index === 4 ? 8 : 16));
    if (read === undefined) return escape;
    count += 1;
    return read;
  });
  return count > 0 ? decoded : '';
}

/** The bytes as text, if nearly all are UTF-8 and most are letters and blanks. */
function readable(bytes: Uint8Array): string | undefined {
  if (bytes.length < SHORTEST) return undefined;
  const text = Buffer.from(bytes).toString('utf8');
  const strange = text.match(/[^\p{L}\p{M}\p{N}\p{P}\p{S}\p{Cf}\s]|\ufffd/gu)?.length ?? 0;
  const letters = text.match(/[\p{L}\p{M}\p{Cf}\s]/gu)?.length ?? 0;
  return strange * 12 <= text.length && letters * 2 >= text.length ? text : undefined;
}
