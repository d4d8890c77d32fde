/**
 * Bidirectional controls, invisible characters, fillers and tags: a person cannot see them, but a database or a model reads them.
 */
const HIDDEN =
  /[\u{34f}\u{17b4}\u{17b5}\u00ad\u115f\u1160\u180e\u200b\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}]/u;
/** Control characters other than tabs, line feeds and carriage returns. */
const CONTROL = /(?![\t\n\r])[\p{Cc}\u2028\u2029]/u;
const LONE_RETURN = /\r(?!\n)/;
/** Readers do not notice text after so many spaces. The second pattern is linear in texts that pass the first. */
const BLANK = /[^\S\n]{200}/;
const BLANK_LINES = /(?:[^\S\n]*\n){50}/;

const FAULTS: readonly (readonly [RegExp, string])[] = [
  [HIDDEN, 'contains an invisible character or one that changes the direction of text; delete it'],
  [LONE_RETURN, 'contains a carriage return without a line feed, which some databases take for a line break; write a line feed'],
  [CONTROL, 'contains a control character; delete it'],
  [BLANK, 'contains more than 199 spaces in a row, which hide what follows; delete them'],
  [BLANK_LINES, 'contains more than 49 blank lines in a row, which hide what follows; delete them'],
];

/** Why people see a different text than the reviewed one. Null when they do not. */
export const hiddenIn = (text: string): string | null => FAULTS.find(([pattern]) => pattern.test(text))?.[1] ?? null;

/**
 * Direction marks, which multilingual texts need, and an invisible Braille pattern. In a name they make it look like another one.
 */
const HIDDEN_MARK = /[\u061c\u200e\u200f\u2800]/;
/** A joiner outside the scripts and emoji that need one. */
const LONE_JOINER =
  /(?<![\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{M}\p{Extended_Pictographic}])[\u200c\u200d]|[\u200c\u200d](?![\p{L}\p{M}\p{Extended_Pictographic}])/u;

/** Why a name may look like another one. Null when it cannot. */
export const hiddenInName = (name: string): string | null =>
  hiddenIn(name) ?? (HIDDEN_MARK.test(name) || LONE_JOINER.test(name) ? (FAULTS[0]?.[1] ?? null) : null);

/** Other programs show file names too, and tables are named after files, so joiners are refused as well. */
const HIDDEN_IN_FILE_NAME = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]/u;
export const isFileNameSeen = (name: string): boolean => !HIDDEN_IN_FILE_NAME.test(name);

/** In an SQL name, unusual spaces are refused as well. */
const HIDDEN_IN_NAME = new RegExp(`${HIDDEN_IN_FILE_NAME.source}|(?! )\\p{Zs}`, 'u');
const LETTERS = /[\p{L}\p{M}]+/gu;
const ALPHABETS = [
  /\p{Script=Latin}/u,
  /\p{Script=Cyrillic}/u,
  /\p{Script=Greek}/u,
  /\p{Script=Armenian}/u,
  /\p{Script=Cherokee}/u,
];
const ASCII = /^[\x20-\x7e]*$/;

/** Index of the first hidden character in a name, or of look-alike letters from several alphabets in one word. -1: none. */
export function disguisedAt(name: string): number {
  if (ASCII.test(name)) return -1;
  const hidden = name.search(HIDDEN_IN_NAME);
  if (hidden >= 0) return hidden;
  for (const { 0: word, index } of name.matchAll(LETTERS)) {
    if (ALPHABETS.filter((alphabet) => alphabet.test(word)).length > 1) return index;
  }
  return -1;
}
