import { type Word, wordsOf } from './words.ts';

/** A text that can be found: its parts with how much a word in each of them counts. */
export interface Part {
  readonly text: string;
  readonly weight: number;
}

/** The words of a text that can be found, counted. Thousands of them are kept, so they are small. */
export interface Terms {
  /** Each stem once, with a blank between two. */
  readonly stems: string;
  /** How often each of them is there, by weight. */
  readonly counts: readonly number[];
  /** All of them together. */
  readonly length: number;
}

export interface Ranked<T> {
  readonly found: T;
  /** Above 0; comparable within one answer only. */
  readonly score: number;
  /** Words of the question that it has, as they were written there. */
  readonly matched: readonly string[];
}

/** Texts by how well they fit a question (BM25 over weighted parts). They enter and leave; the order of entering changes nothing. */
export interface Ranking<T> {
  add(found: T, terms: Terms): void;
  remove(found: T): void;
  /** The best first; of equal ones in the order of `compare`. What has no word of the question is not in it. */
  rank(question: string, compare: (a: T, b: T) => number, isWanted?: (found: T) => boolean): Ranked<T>[];
  size(): number;
}

/** How soon another occurrence of the same word stops to matter, and how much a long text is held against it (Robertson, 1994). */
const K1 = 1.2;
const B = 0.75;
/** Words of a question that are looked up. */
const LONGEST_QUESTION = 64;

export function termsOf(parts: readonly Part[]): Terms {
  const counts = new Map<string, number>();
  let length = 0;
  for (const { text, weight } of parts) {
    for (const { stem } of wordsOf(text)) {
      counts.set(stem, (counts.get(stem) ?? 0) + weight);
      length += weight;
    }
  }
  return { stems: [...counts.keys()].join(' '), counts: [...counts.values()], length };
}

const stemsOf = ({ stems }: Terms): string[] => (stems === '' ? [] : stems.split(' '));

/** The stems that two texts share, of all that they have (Jaccard): 0 to 1. */
export function overlapOf(one: Terms, other: Terms): number {
  const [stems, others] = [stemsOf(one), new Set(stemsOf(other))];
  const common = stems.filter((stem) => others.has(stem)).length;
  const all = stems.length + others.size - common;
  return all === 0 ? 0 : common / all;
}

/** Who has a stem, and at the same place how often. */
interface Holders<T> {
  readonly found: T[];
  readonly counts: number[];
}

export function createRanking<T>(): Ranking<T> {
  const held = new Map<T, Terms>();
  const holders = new Map<string, Holders<T>>();

  const remove = (found: T): void => {
    const terms = held.get(found);
    if (terms === undefined) return;
    held.delete(found);
    for (const stem of stemsOf(terms)) {
      const list = holders.get(stem);
      if (list === undefined) continue;
      const at = list.found.indexOf(found);
      // The last one takes its place.
      const [last, count] = [list.found.pop(), list.counts.pop()];
      if (last !== undefined && count !== undefined && at < list.found.length) [list.found[at], list.counts[at]] = [last, count];
      if (list.found.length === 0) holders.delete(stem);
    }
  };
  /** Summed anew: what is added and taken away again would leave a rest. */
  const averageLength = (): number => {
    let sum = 0;
    for (const { length } of held.values()) sum += length;
    return held.size === 0 ? 1 : sum / held.size || 1;
  };

  return {
    add(found, terms) {
      remove(found);
      held.set(found, terms);
      for (const [n, stem] of stemsOf(terms).entries()) {
        const list = holders.get(stem) ?? { found: [], counts: [] };
        holders.set(stem, list);
        list.found.push(found);
        list.counts.push(terms.counts[n]!);
      }
    },
    remove,
    rank(question, compare, isWanted = () => true) {
      const scores = new Map<T, { score: number; matched: string[] }>();
      const average = averageLength();
      for (const { text, stem } of distinct(wordsOf(question))) {
        const list = holders.get(stem);
        if (list === undefined) continue;
        const { length: many } = list.found;
        const rarity = Math.log(1 + (held.size - many + 0.5) / (many + 0.5));
        for (const [n, found] of list.found.entries()) {
          if (!isWanted(found)) continue;
          const count = list.counts[n]!;
          const length = held.get(found)?.length ?? 0;
          const score = (rarity * count * (K1 + 1)) / (count + K1 * (1 - B + (B * length) / average));
          const known = scores.get(found);
          if (known === undefined) scores.set(found, { score, matched: [text] });
          else {
            known.score += score;
            known.matched.push(text);
          }
        }
      }
      return [...scores]
        .map(([found, { score, matched }]) => ({ found, score, matched }))
        .toSorted((a, b) => b.score - a.score || compare(a.found, b.found));
    },
    size: () => held.size,
  };
}

/** Each stem once, in an order that does not depend on the question's: sums of the same numbers are then the same. */
function distinct(words: readonly Word[]): Word[] {
  const first = new Map<string, Word>();
  for (const word of words) if (!first.has(word.stem) && first.size < LONGEST_QUESTION) first.set(word.stem, word);
  return [...first.values()].toSorted((a, b) => (a.stem < b.stem ? -1 : 1));
}
