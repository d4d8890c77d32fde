/**
 * Letters of other scripts that look like Latin ones, after compatibility folding and lower-casing (which already turn
 * full-width, mathematical, circled and superscript letters into plain ones). Pairs of look-alikes and their Latin letter.
 */
const LOOKALIKES: Readonly<Record<string, string>> = {
  a: 'аαɑᴀɐ⍺',
  b: 'ьвƅʙḃᏏᖯ',
  c: 'сϲᴄⅽꮯ',
  d: 'ԁɗᴅᏧ',
  e: 'еєεҽᴇ℮ɛ',
  f: 'ғƒꜰẝք',
  g: 'ɡցɢԍᶃ',
  h: 'һнհʜᏂ',
  i: 'іιɪıꙇɩⅰ',
  j: 'јϳᴊʝ',
  k: 'кκᴋĸ',
  l: 'ӏʟⅼǀ',
  m: 'мᴍⅿ',
  n: 'пηոɴռ',
  o: 'оοօᴏσ०ഠ',
  p: 'рρᴘϱ',
  q: 'ԛզʠ',
  r: 'гʀᴦɾ',
  s: 'ѕꜱʂᏚ',
  t: 'тτᴛŧ',
  u: 'υսᴜʋ',
  v: 'ѵνᴠⅴ',
  w: 'ԝшѡωᴡա',
  x: 'хχⅹ᙮',
  y: 'уγүʏყ',
  z: 'ᴢʐȥ',
};

export const SKELETON: ReadonlyMap<string, string> = new Map(
  Object.entries(LOOKALIKES).flatMap(([latin, others]) => Array.from(others.toLowerCase(), (other) => [other, latin] as const)),
);

/** Latin letters that canonical decomposition does not change. */
export const PLAIN: ReadonlyMap<string, string> = new Map([
  ['ı', 'i'],
  ['ł', 'l'],
  ['ø', 'o'],
  ['đ', 'd'],
  ['ð', 'd'],
  ['þ', 'th'],
  ['ß', 'ss'],
  ['æ', 'ae'],
  ['œ', 'oe'],
  ['ħ', 'h'],
  ['\u2018', "'"],
  ['\u2019', "'"],
  ['\u02bc', "'"],
  ['\uff07', "'"],
]);

/** Digits and signs used as letters. `1` is read as i and as l. */
export const LEET: ReadonlyMap<string, string> = new Map([
  ['0', 'o'],
  ['1', 'i'],
  ['3', 'e'],
  ['4', 'a'],
  ['5', 's'],
  ['7', 't'],
  ['8', 'b'],
  ['@', 'a'],
  ['$', 's'],
]);
