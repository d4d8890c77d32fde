import { LEET, PLAIN, SKELETON } from './confusables.ts';

/** Ways in which a text hides something. Each is the id of a rule of the family `invisible`. */
export type Hidden =
  | 'invisible.tag_characters'
  | 'invisible.variation_selectors'
  | 'invisible.bidi_override'
  | 'invisible.bidi_isolate'
  | 'invisible.zero_width'
  | 'invisible.zero_width_run'
  | 'invisible.control_characters'
  | 'invisible.mixed_scripts'
  | 'invisible.padding';

export interface Normalised {
  /** The text without invisible characters. */
  readonly visible: string;
  /** `visible` without compatibility forms, case, and the diacritics of Latin, Greek, Cyrillic and Arabic. */
  readonly folded: string;
  /** Text that Unicode tag characters and variation selectors encode, if any. */
  readonly smuggled: string;
  readonly hidden: ReadonlySet<Hidden>;
}

const ASCII = /^[\t\n\r\x20-\x7e]*$/;
// Selectors and joiners are matched individually here, not as parts of a letter.
const INVISIBLE =
  // oxlint-disable-next-line no-misleading-character-class
  /[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g;
const MARKS = /[\u0300-\u036f\u0483-\u0487\u064b-\u065f\u0670\u0653-\u0655\u0640]/g;
const PLAIN_LETTERS = /[ıłøđðþßæœħ\u2018\u2019\u02bc\uff07]/g;
/** A regional flag is a black flag with tag characters that end with U+E007F (UTS 51, emoji tag sequences). */
const FLAG = /\u{1f3f4}[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{2,6}\u{e007f}/gu;
const JOINED_SCRIPT =
  /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Gujarati}\p{Script=Gurmukhi}\p{Script=Sinhala}\p{Script=Thai}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Lao}\p{Script=Mongolian}\p{Script=Tibetan}\p{Extended_Pictographic}\p{Emoji_Modifier}\u{fe0f}]/u;
const MIXED = /(?:[a-z][\p{Script=Cyrillic}]|[\p{Script=Cyrillic}][a-z])/iu;

export function normalise(text: string): Normalised {
  const hidden = new Set<Hidden>();
  if (padded(text)) hidden.add('invisible.padding');
  if (ASCII.test(text)) return { visible: text, folded: text.toLowerCase(), smuggled: '', hidden };
  const { visible, smuggled } = strip(text, hidden);
  if (MIXED.test(visible.normalize('NFKC'))) hidden.add('invisible.mixed_scripts');
  return { visible, folded: fold(visible), smuggled, hidden };
}

/** Whether text follows so many blanks or empty lines that lists and dialogs do not show it. */
function padded(text: string): boolean {
  let blanks = 0;
  let lines = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === 10) {
      lines += 1;
      blanks = 0;
    } else if (code === 32 || code === 9 || code === 0xa0 || code === 0x3000) {
      blanks += 1;
    } else if (code !== 13) {
      if (index > blanks && (blanks >= 80 || lines >= 24)) return true;
      blanks = 0;
      lines = 0;
    }
  }
  return false;
}

/** Removes compatibility forms, case, diacritics (except those of kana, Hangul and Indic scripts) and typographic apostrophes. */
export function fold(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase();
  return text
    .normalize('NFKC')
    .toLowerCase()
    .normalize('NFKD')
    .replace(MARKS, '')
    .normalize('NFC')
    .replace(PLAIN_LETTERS, (letter) => PLAIN.get(letter) ?? letter);
}

function strip(text: string, hidden: Set<Hidden>): { visible: string; smuggled: string } {
  const without_flags = text.replace(FLAG, '\u{1f3f4}');
  let smuggled = '';
  let zero_width = 0;
  let selectors = 0;
  let last_selector = -2;
  const visible = without_flags.replace(INVISIBLE, (sign, offset: number) => {
    const code = sign.codePointAt(0) ?? 0;
    if (code >= 0xe0000 && code <= 0xe007f) {
      hidden.add('invisible.tag_characters');
      if (code >= 0xe0020 && code < 0xe007f) smuggled += String.fromCharCode(code - 0xe0000);
      return '';
    }
    if ((code >= 0xfe00 && code <= 0xfe0f) || (code >= 0xe0100 && code <= 0xe01ef)) {
      // One selector after a character is normal. Several in a row encode bytes (0-15 and 16-255).
      const byte = code < 0xe0100 ? code - 0xfe00 : code - 0xe0100 + 16;
      if (last_selector === offset) {
        selectors += 1;
        hidden.add('invisible.variation_selectors');
      }
      if (byte >= 32 && byte < 127) smuggled += String.fromCharCode(byte);
      last_selector = offset + sign.length;
      return '';
    }
    if (code === 0x202d || code === 0x202e) hidden.add('invisible.bidi_override');
    else if ((code >= 0x202a && code <= 0x202c) || (code >= 0x2066 && code <= 0x2069)) hidden.add('invisible.bidi_isolate');
    else if (!ordinaryJoiner(without_flags, offset, code)) zero_width += 1;
    return '';
  });
  if (zero_width > 0) hidden.add(zero_width > 3 ? 'invisible.zero_width_run' : 'invisible.zero_width');
  const clean = visible.replace(CONTROL, (sign) => {
    hidden.add('invisible.control_characters');
    return sign === '\x0b' || sign === '\x0c' || sign === '\x85' ? '\n' : '';
  });
  return { visible: clean, smuggled: selectors > 0 || hidden.has('invisible.tag_characters') ? smuggled : '' };
}

/** Joiners and direction marks are part of many scripts and of emoji, and a text may start with a byte order mark. */
function ordinaryJoiner(text: string, offset: number, code: number): boolean {
  if (code === 0xfeff && offset === 0) return true;
  if (code === 0x200e || code === 0x200f || code === 0x061c) return true;
  if (code >= 0x180b && code <= 0x180f) return true;
  if (code !== 0x200b && code !== 0x200c && code !== 0x200d) return false;
  const low = text.charCodeAt(offset - 1);
  const from = low >= 0xdc00 && low <= 0xdfff ? offset - 2 : offset - 1;
  return from >= 0 && JOINED_SCRIPT.test(String.fromCodePoint(text.codePointAt(from) ?? 0));
}

/** The folded text with look-alike letters of other scripts replaced by Latin ones. Undefined when it has none. */
export function skeleton(folded: string): string | undefined {
  if (ASCII.test(folded)) return undefined;
  let changed = false;
  let read = '';
  for (const letter of folded) {
    const latin = SKELETON.get(letter);
    if (latin === undefined) {
      read += regional(letter) ?? letter;
      continue;
    }
    changed = true;
    read += latin;
  }
  return changed || read !== folded ? read : undefined;
}

/** Words can also be written with regional indicators and squared letters. */
function regional(letter: string): string | undefined {
  const code = letter.codePointAt(0) ?? 0;
  if (code >= 0x1f1e6 && code <= 0x1f1ff) return String.fromCharCode(code - 0x1f1e6 + 97);
  if (code >= 0x1f170 && code <= 0x1f189) return String.fromCharCode(code - 0x1f170 + 97);
  if (code >= 0x1f150 && code <= 0x1f169) return String.fromCharCode(code - 0x1f150 + 97);
  return undefined;
}

const LEET_WORD = /[a-z013457@$8]{3,64}/g;
const LETTER = /[a-z]/;
const SIGN = /[013457@$8]/;

/** Reads digits and signs in words as letters: once with `1` as i and, if that differs, once as l. */
export function unleet(folded: string): string[] {
  let differs = false;
  let has_one = false;
  const read = (one: string) =>
    folded.replace(LEET_WORD, (word) => {
      if (!SIGN.test(word) || !LETTER.test(word)) return word;
      differs = true;
      if (word.includes('1')) has_one = true;
      return word.replace(/[013457@$8]/g, (sign) => (sign === '1' ? one : (LEET.get(sign) ?? sign)));
    });
  const first = read('i');
  if (!differs) return [];
  return has_one ? [first, read('l')] : [first];
}

const SPACED = /(?<![\p{L}\p{N}])\p{L}(?:[ \t._*\-·•|/+~,]{1,3}\p{L}(?![\p{L}\p{N}])){4,400}/gu;

export interface Spaced {
  /** The text with those letters joined: a wider gap separates words. */
  readonly joined: string;
  /** Whether a long run has no wider gap, so that its words cannot be separated. */
  readonly solid: boolean;
}

/** Reads words that are written as single letters ("i g n o r e"). Undefined when there are none. */
export function unspace(folded: string): Spaced | undefined {
  let changed = false;
  let solid = false;
  const joined = folded.replace(SPACED, (run) => {
    changed = true;
    const gaps = run.match(/[^\p{L}]+/gu) ?? [];
    const narrow = Math.min(...gaps.map((gap) => gap.length));
    const words = gaps.some((gap) => gap.length > narrow) ? run.split(new RegExp(`[^\\p{L}]{${narrow + 1},3}`, 'u')) : [run];
    const read = words.map((word) => word.replace(/[^\p{L}]/gu, ''));
    if (read.some((word) => word.length >= SENTENCE && !isSorted(word))) solid = true;
    return read.join(' ');
  });
  return changed ? { joined, solid } : undefined;
}

/** Letters of the shortest instruction. */
const SENTENCE = 15;

/** A list of letters, such as grades or drives, is no text. */
const isSorted = (letters: string): boolean =>
  Array.from(letters).every((letter, n) => n === 0 || letter >= letters.charAt(n - 1));

const PARTS = /(?<![\p{L}\p{N}])[\p{L}\p{N}]+(?:[_-][\p{L}\p{N}]+){3,40}|\b[a-z]{1,30}(?:[A-Z][a-z]{0,30}){3,40}/gu;

/** Separates the words of names such as `ignore_previous_instructions`. Undefined when there are none of four words or more. */
export function partNames(visible: string): string | undefined {
  let changed = false;
  const read = visible.replace(PARTS, (name) => {
    changed = true;
    return name.replace(/[_-]/g, ' ').replace(/([a-z])([A-Z])/g, '$1 $2');
  });
  return changed ? read : undefined;
}
