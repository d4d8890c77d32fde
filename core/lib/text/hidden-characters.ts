/** Bidirectional controls, characters without a shape, fillers and tags: what a reader cannot see and a database or a model reads. */
const HIDDEN =
  /[\u{34f}\u{17b4}\u{17b5}\u00ad\u115f\u1160\u180e\u200b\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}]/u;
/** Control characters; tabs, line feeds and carriage returns in front of them are shown as what they are. */
const CONTROL = /(?![\t\n\r])[\p{Cc}\u2028\u2029]/u;
const LONE_RETURN = /\r(?!\n)/;
/** What stands behind so much white space is looked for by nobody. The second is linear in texts that pass the first. */
const BLANK = /[^\S\n]{200}/;
const BLANK_LINES = /(?:[^\S\n]*\n){50}/;

const FAULTS: readonly (readonly [RegExp, string])[] = [
  [HIDDEN, 'contains an invisible character or one that changes the direction of text; delete it'],
  [LONE_RETURN, 'contains a carriage return without a line feed, which some databases take for a line break; write a line feed'],
  [CONTROL, 'contains a control character; delete it'],
  [BLANK, 'contains more than 199 spaces in a row, which hide what follows; delete them'],
  [BLANK_LINES, 'contains more than 49 blank lines in a row, which hide what follows; delete them'],
];

/** Why a text that people review would not be what they see; null: it is. */
export const hiddenIn = (text: string): string | null => FAULTS.find(([pattern]) => pattern.test(text))?.[1] ?? null;

/** Marks of direction that texts in several languages need, and a blank with the shape of none: a name that has them looks like another. */
const HIDDEN_MARK = /[\u061c\u200e\u200f\u2800]/;
/** What joins letters of some languages, and pictures, joins nothing elsewhere. */
const LONE_JOINER =
  /(?<![\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{M}\p{Extended_Pictographic}])[\u200c\u200d]|[\u200c\u200d](?![\p{L}\p{M}\p{Extended_Pictographic}])/u;

/** The same for a name, by which people tell one thing from another. */
export const hiddenInName = (name: string): string | null =>
  hiddenIn(name) ?? (HIDDEN_MARK.test(name) || LONE_JOINER.test(name) ? (FAULTS[0]?.[1] ?? null) : null);

/** A file has its name in other programs too, and its tables are named by it: not even joiners are seen there. */
const HIDDEN_IN_FILE_NAME = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]/u;
export const isFileNameSeen = (name: string): boolean => !HIDDEN_IN_FILE_NAME.test(name);

/** In a name of SQL unusual spaces are not seen either. */
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

/** Where a name has what passes for something else: hidden characters, or letters of alphabets that look alike in one word; -1: nowhere. */
export function disguisedAt(name: string): number {
  if (ASCII.test(name)) return -1;
  const hidden = name.search(HIDDEN_IN_NAME);
  if (hidden >= 0) return hidden;
  for (const { 0: word, index } of name.matchAll(LETTERS)) {
    if (ALPHABETS.filter((alphabet) => alphabet.test(word)).length > 1) return index;
  }
  return -1;
}
