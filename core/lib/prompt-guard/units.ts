/** A text as units: words, numbers, and single ideographs or kana. */
export interface Units {
  readonly units: readonly string[];
  /** Distance of each unit from the start, in words. An ideograph or kana counts as half a word. */
  readonly position: readonly number[];
  readonly sentence: readonly number[];
  /** Lists that a unit matches by its form: an identifier, a link, an address. */
  readonly marks: readonly Hit[];
}

/** The units from `start` to before `end` match a word list. */
export interface Hit {
  readonly list: string;
  readonly start: number;
  readonly end: number;
}

/** Longer words are cut, because no list has words of this length. */
const LONGEST_WORD = 64;
const LONGEST_LINK = 2_000;
const MOST_PARTS_OF_IDENTIFIER = 12;
const LETTER = /[\p{L}\p{M}\p{N}]/u;
const SPACE = /\s/;
const ENDS_LINK = /[\s<>"'`)\]]/;
/** Beginnings after which an apostrophe separates two words in French and Italian. Elsewhere it joins ("don't"). */
const ELISION = new Set('l d n j s m t c qu un all dell nell dall sull lorsqu jusqu'.split(' '));

const OTHER = 0;
const WORD = 1;
const STOP = 2;
const NEWLINE = 3;
const IDEOGRAPH = 4;

const ASCII_CLASS = Uint8Array.from({ length: 128 }, (_, code) => {
  if ((code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122)) return WORD;
  if (code === 46 || code === 33 || code === 63 || code === 59) return STOP;
  return code === 10 ? NEWLINE : OTHER;
});

/** Ideographs of the basic plane, and kana: scripts without spaces between words. */
export function isIdeograph(code: number): boolean {
  return (
    (code >= 0x4e00 && code <= 0x9fff) ||
    (code >= 0x3041 && code <= 0x30ff && code !== 0x30fb) ||
    (code >= 0x3400 && code <= 0x4dbf) ||
    (code >= 0xf900 && code <= 0xfaff) ||
    code === 0x3005
  );
}

function classOf(code: number, letter: string): number {
  if (code < 128) return ASCII_CLASS[code] ?? OTHER;
  if (isIdeograph(code)) return IDEOGRAPH;
  if (code === 0x3002 || code === 0x61b) return STOP;
  return LETTER.test(letter) ? WORD : OTHER;
}

/** @param text folded text. */
export function toUnits(text: string): Units {
  const units: string[] = [];
  const position: number[] = [];
  const sentences: number[] = [];
  const marks: Hit[] = [];
  let sentence = 0;
  let length = 0;
  let identifier = 0;
  let parts = 1;
  let previous_end = -2;
  let blank_line = false;

  const push = (unit: string, weight: number) => {
    units.push(unit);
    position.push(length);
    sentences.push(sentence);
    length += weight;
  };
  let at = 0;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    const kind = classOf(code, text.charAt(at));
    if (kind !== OTHER || code > 32) {
      if (kind === NEWLINE && blank_line) sentence += 1;
      blank_line = kind === NEWLINE;
    }
    if (kind === STOP) {
      // A full stop within a name, a number or a path does not end a sentence.
      const after = text.charAt(at + 1);
      if (code !== 46 || after === '' || SPACE.test(after) || isIdeograph(after.charCodeAt(0))) sentence += 1;
    }
    if (kind === IDEOGRAPH) {
      push(text.charAt(at), 0.5);
      previous_end = at + 1;
    }
    if (code === 64 && previous_end === at && ASCII_CLASS[text.charCodeAt(at + 1)] === WORD) {
      marks.push({ list: 'ADDRESS', start: units.length - 1, end: units.length });
    }
    if (kind !== WORD) {
      at += 1;
      continue;
    }
    const start = at;
    do at += 1;
    while (at < text.length && classOf(text.charCodeAt(at), text.charAt(at)) === WORD);
    if (text.startsWith('://', at) && /^(?:https?|ftp|wss?)$/.test(text.slice(start, at))) {
      at = endOfLink(text, at + 3);
      marks.push({ list: 'LINK', start: units.length, end: units.length + 1 });
      push('://', 1);
      previous_end = at;
      continue;
    }
    const word = text.slice(start, Math.min(at, start + LONGEST_WORD));
    const glued = previous_end === start - 1 ? text.charAt(start - 1) : '';
    const last = units.length - 1;
    if (glued === "'" && !ELISION.has(units[last] ?? '')) {
      units[last] = ((units[last] ?? '') + word).slice(0, LONGEST_WORD);
      previous_end = at;
      continue;
    }
    if (glued === '_') {
      parts += 1;
      if (parts <= MOST_PARTS_OF_IDENTIFIER) marks.push({ list: 'IDENT', start: identifier, end: units.length + 1 });
    } else {
      identifier = units.length;
      parts = 1;
    }
    const hidden_name =
      glued === '' && text.charAt(start - 1) === '.' && classOf(text.charCodeAt(start - 2), text.charAt(start - 2)) !== WORD;
    push(hidden_name ? `dot${word}` : word, 1);
    previous_end = at;
  }
  return { units, position, sentence: sentences, marks };
}

function endOfLink(text: string, from: number): number {
  const limit = Math.min(text.length, from + LONGEST_LINK);
  let end = from;
  while (end < limit && !ENDS_LINK.test(text.charAt(end))) end += 1;
  return end;
}
