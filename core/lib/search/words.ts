/** Stop words: articles, pronouns, prepositions, auxiliaries and polite phrases. */
const STOP = new Set(
  (
    'a about all also am an and any are as at be been but by can could did do does for from get give given had has have he her hers him ' +
    'his how i if in into is it its just let like me my need no not of on one only or other our out please she show so some tell than ' +
    'that the their them then there these they this those to too up us use used want was we were what when where which who whose why ' +
    'will with would you your'
  ).split(' '),
);

/** The rest of a longer text is ignored. */
const MAX_CHARACTERS = 20_000;
const LONGEST_WORD = 40;

/** A word as it was written, in lower case, and the stem that it shares with its other forms. */
export interface Word {
  readonly text: string;
  readonly stem: string;
}

/** The words of a text in order. `snake_case`, `kebab-case` and `camelCase` are several words; stop words are omitted. */
export function wordsOf(text: string): Word[] {
  const plain = text
    .slice(0, MAX_CHARACTERS)
    .normalize('NFKC')
    .replaceAll(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
    .toLowerCase();
  const words: Word[] = [];
  for (const [found] of plain.matchAll(/[\p{L}\p{N}]+/gu)) {
    const word = found.slice(0, LONGEST_WORD);
    if (!STOP.has(word)) words.push({ text: word, stem: stemOf(word) });
  }
  return words;
}

const VOWEL = /[aeiouy]/;

/**
 * A light stem of an English word: only plural, `-ing`, `-ed` and `-ly` are removed. Short words and those of other languages
 * mostly stay. Two forms of a word must have the same stem; the stem need not be a word.
 */
export function stemOf(word: string): string {
  if (word.length < 4 || !/^[a-z]+$/.test(word)) return word;
  let stem = withoutPlural(word);
  for (const ending of ['ingly', 'edly', 'ing', 'ed', 'ly']) {
    const rest = stem.slice(0, -ending.length);
    if (stem.endsWith(ending) && rest.length >= 3 && VOWEL.test(rest)) {
      stem = withoutDouble(rest);
      break;
    }
  }
  // Dropping a final vowel unifies `create`, `created` and `creating`; `query` and `queries` get the same one.
  if (stem.length > 3 && stem.endsWith('e')) return stem.slice(0, -1);
  return stem.length > 3 && stem.endsWith('y') ? `${stem.slice(0, -1)}i` : stem;
}

function withoutPlural(word: string): string {
  if (/(?:ss|us|is)$/.test(word)) return word;
  if (word.endsWith('ies') && word.length > 4) return `${word.slice(0, -3)}y`;
  if (/(?:ches|shes|sses|xes|zes)$/.test(word)) return word.slice(0, -2);
  return word.endsWith('s') ? word.slice(0, -1) : word;
}

/** `shipp` of `shipped` is `ship`; `call` and `pass` keep both letters. */
const withoutDouble = (stem: string): string => (/([bdgmnprt])\1$/.test(stem) ? stem.slice(0, -1) : stem);
