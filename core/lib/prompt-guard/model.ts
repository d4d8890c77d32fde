/**
 * A linear classifier over hashed n-grams: words, pairs and triples of words, four letters within a word (of scripts without spaces:
 * one to four) and the letters on both sides of a space. A text has the score of its most suspicious window of two sentences, so that a long description does not
 * dilute an order in it.
 */
export interface Model {
  /** The table of weights has 2 ** bits entries. */
  readonly bits: number;
  readonly bias: number;
  /** The value of one step of a stored weight. */
  readonly scale: number;
  /** Identifies the texts that the model learnt from. */
  readonly trained_on: string;
  readonly weights: Int8Array | Float32Array;
}

const MAGIC = 'sluice guard 1\n\0';
const HEAD = 64;

export function openModel(bytes: Uint8Array): Model {
  const head = new DataView(bytes.buffer, bytes.byteOffset, HEAD);
  const text = (from: number, to: number) => Buffer.from(bytes.subarray(from, to)).toString('latin1');
  if (text(0, 16) !== MAGIC) throw new Error('This file is not a model of the prompt guard.');
  const bits = head.getUint32(16, true);
  return {
    bits,
    bias: head.getFloat32(20, true),
    scale: head.getFloat32(24, true),
    trained_on: text(32, HEAD),
    weights: new Int8Array(bytes.buffer, bytes.byteOffset + HEAD, 2 ** bits),
  };
}

/** @param model its weights are whole numbers and `trained_on` has 32 letters. */
export function packModel({ bits, bias, scale, trained_on, weights }: Model): Uint8Array {
  const bytes = new Uint8Array(HEAD + 2 ** bits);
  const head = new DataView(bytes.buffer);
  bytes.set(Buffer.from(MAGIC, 'latin1'));
  head.setUint32(16, bits, true);
  head.setFloat32(20, bias, true);
  head.setFloat32(24, scale, true);
  bytes.set(Buffer.from(trained_on, 'latin1'), 32);
  bytes.set(new Uint8Array(weights.buffer, weights.byteOffset, weights.length), HEAD);
  return bytes;
}

export const foldForModel = (text: string): string =>
  text
    .normalize('NFKD')
    // oxlint-disable-next-line no-misleading-character-class
    .replace(/[\u0300-\u036f\u200b-\u200f\u2060\ufeff\u00ad]/g, '')
    .normalize('NFC')
    .toLowerCase()
    .replace(/\d+/g, '0');

const UNIT =
  /[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0e7f]+|[\p{L}\p{M}\p{N}_]+(?:['’][\p{L}]+)*|:\/\/|[<>{}[\]|#@~.!?:;。！？：；]/gu;
const SOLID = /^[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0e7f]/;
const STOP = /[.!?;。！？；]+(?=\s|$|[\u3040-\u9fff"'»”)])|\n+/g;
/** Sentences in a window, and the most letters that are read as one sentence. */
const WINDOW = 2;
const LONGEST = 320;

/** Windows of two sentences each. A text without an end of a sentence is cut. */
export function windowsOf(text: string): string[] {
  const sentences: string[] = [];
  let from = 0;
  const push = (end: number) => {
    for (; end - from > LONGEST; from += LONGEST) sentences.push(text.slice(from, from + LONGEST));
    const sentence = text.slice(from, end);
    from = end;
    // A few letters, such as "e.g.", are not a sentence.
    if (sentence.trim().length < 12 && sentences.length > 0) sentences[sentences.length - 1] += sentence;
    else if (sentence.trim() !== '') sentences.push(sentence);
  };
  for (const stop of text.matchAll(STOP)) push(stop.index + stop[0].length);
  push(text.length);
  if (sentences.length <= WINDOW) return [sentences.join('')];
  return sentences.slice(0, 1 - WINDOW).map((_, n) => sentences.slice(n, n + WINDOW).join(''));
}

const FIRST = 0x811c9dc5;
const PRIME = 0x01000193;
const wordHash = (word: string): number => {
  let hash = FIRST ^ 0x77;
  for (let n = 0; n < word.length; n += 1) hash = Math.imul(hash ^ word.charCodeAt(n), PRIME);
  return hash;
};
/** Stands for every name with underscores in pairs of words: an order is one whichever tool it names. */
const NAME = wordHash('\u0001name');
const NAMED = /^[a-z0-9]+(?:_[a-z0-9]+)+$/;
/** Precedes the first word of a sentence: orders start with a verb. */
const START = wordHash('\u0001start');
const PAUSE = /^[.!?:;。！？：；]$/;
const GRAM = 4;
const BORDER = 3;

/** The last letters of a word with the first ones of the next. */
function borderHash(before: string, after: string): number {
  let hash = FIRST ^ 0x55;
  for (let n = Math.max(before.length - BORDER, 0); n < before.length; n += 1)
    hash = Math.imul(hash ^ before.charCodeAt(n), PRIME);
  hash = Math.imul(hash ^ 0x20, PRIME);
  for (let n = 0; n < Math.min(after.length, BORDER); n += 1) hash = Math.imul(hash ^ after.charCodeAt(n), PRIME);
  return hash;
}

/** Calls `see` with the hash of each n-gram and the index of its word. @returns the words. */
export function eachFeature(folded: string, see: (hash: number, word: number) => void): string[] {
  const words = folded.match(UNIT) ?? [];
  // Pairs with up to two words between tell "ignore all previous rules" from its parts.
  let [one, two, three] = [START, 0, 0];
  let before = '';
  words.forEach((word, index) => {
    const solid = SOLID.test(word);
    let whole = wordHash(word);
    if (word.includes('_') && NAMED.test(word)) {
      see(whole, index);
      whole = NAME;
    }
    if (!solid) {
      see(whole, index);
      see(Math.imul(one ^ (whole >>> 7), PRIME) ^ whole, index);
      if (two !== 0) {
        see(Math.imul(two ^ (whole >>> 9), PRIME) ^ whole, index);
        see(Math.imul(Math.imul(two ^ 0x55, PRIME) ^ one, PRIME) ^ whole ^ 0x3333, index);
      }
      if (three !== 0) see(Math.imul(three ^ (whole >>> 9), PRIME) ^ whole, index);
      if (before !== '') see(borderHash(before, word), index);
    }
    [one, two, three] = [PAUSE.test(word) ? START : whole, one, two];
    before = solid ? '' : word;
    const from = solid ? 1 : GRAM;
    const marked = solid ? word : `^${word}$`;
    for (let at = 0; at < marked.length; at += 1) {
      let hash = FIRST;
      for (let n = 1; n <= GRAM && at + n <= marked.length; n += 1) {
        hash = Math.imul(hash ^ marked.charCodeAt(at + n - 1), PRIME);
        if (n >= from) see(hash ^ (n << 24), index);
      }
    }
  });
  return words;
}

export const slotOf = (hash: number, bits: number): number => (Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 0) >>> (32 - bits);

/** Words that explain a finding. */
const EXPLAINS = 6;

/** Log-odds of one window: above 0, more likely an injection than not at the rate of the training texts. */
function scoreWindow(
  { bits, bias, scale, weights }: Model,
  window: string,
  see?: (weight: number, word: number) => void,
): number {
  const seen = new Set<number>();
  let sum = 0;
  eachFeature(window, (hash, word) => {
    const slot = slotOf(hash, bits);
    if (seen.has(slot)) return;
    seen.add(slot);
    const weight = (weights[slot] ?? 0) * scale;
    sum += weight;
    see?.(weight, word);
  });
  return bias + sum / Math.sqrt(Math.max(seen.size, 1));
}

function worstWindow(model: Model, text: string, steps: { count: number }): { readonly score: number; readonly window: string } {
  let worst = { score: -Infinity, window: '' };
  for (const window of windowsOf(foldForModel(text))) {
    steps.count += window.length;
    const score = scoreWindow(model, window);
    if (score > worst.score) worst = { score, window };
  }
  return worst;
}

/** The log-odds of the most suspicious window. @param steps counts the characters read. */
export const classify = (model: Model, text: string, steps = { count: 0 }): number => worstWindow(model, text, steps).score;

/** The words of the most suspicious window that weighed most, in their order. */
export function explain(model: Model, text: string): string[] {
  const { window } = worstWindow(model, text, { count: 0 });
  const shares: number[] = [];
  scoreWindow(model, window, (weight, word) => (shares[word] = (shares[word] ?? 0) + weight));
  const words = window.match(UNIT) ?? [];
  const shareOf = (n: number) => shares[n] ?? 0;
  const top = Array.from(words.keys())
    .filter((n) => shareOf(n) > 0)
    .sort((one, other) => shareOf(other) - shareOf(one))
    .slice(0, EXPLAINS);
  return words.filter((_, n) => top.includes(n));
}
