import { type Word, wordsOf } from './words.ts';

/** A part of a searchable text, with the weight of each word in it. */
export interface Part {
  readonly text: string;
  readonly weight: number;
}

/** The counted words of a searchable text. Thousands of them are stored, so the form is compact. */
export interface Terms {
  /** Each stem once, separated by spaces. */
  readonly stems: string;
  /** Weighted count of each stem. */
  readonly counts: readonly number[];
  /** Sum of the counts. */
  readonly length: number;
}

export interface Ranked<T> {
  readonly found: T;
  /** Above 0; only comparable within one result. */
  readonly score: number;
  /** Words of the query that occur in the text, as written in the query. */
  readonly matched: readonly string[];
}

/**
 * Ranks texts by relevance to a query (BM25 over weighted parts). Texts can be added and removed; their order makes no
 * difference.
 */
export interface Ranking<T> {
  add(found: T, terms: Terms): void;
  remove(found: T): void;
  /** The most relevant first; equal scores in the order of `compare`. Texts without a word of the query are not included. */
  rank(question: string, compare: (a: T, b: T) => number, isIncluded?: (found: T) => boolean): Ranked<T>[];
  size(): number;
}

/** Saturation of repeated words, and normalisation by text length (Robertson, 1994). */
const K1 = 1.2;
const B = 0.75;
/** Maximum words of a query. */
const MAX_QUERY_WORDS = 64;

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

/** Share of stems that two texts have in common (Jaccard index): 0 to 1. */
export function overlapOf(one: Terms, other: Terms): number {
  const [stems, others] = [stemsOf(one), new Set(stemsOf(other))];
  const common = stems.filter((stem) => others.has(stem)).length;
  const all = stems.length + others.size - common;
  return all === 0 ? 0 : common / all;
}

/** The texts that contain a stem, and at the same index its count. */
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
      // The last entry moves to its index.
      const [last, count] = [list.found.pop(), list.counts.pop()];
      if (last !== undefined && count !== undefined && at < list.found.length) [list.found[at], list.counts[at]] = [last, count];
      if (list.found.length === 0) holders.delete(stem);
    }
  };
  /** Summed again each time: adding and subtracting would accumulate rounding errors. */
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
    rank(question, compare, isIncluded = () => true) {
      const scores = new Map<T, { score: number; matched: string[] }>();
      const average = averageLength();
      for (const { text, stem } of distinct(wordsOf(question))) {
        const list = holders.get(stem);
        if (list === undefined) continue;
        const { length: many } = list.found;
        const rarity = Math.log(1 + (held.size - many + 0.5) / (many + 0.5));
        for (const [n, found] of list.found.entries()) {
          if (!isIncluded(found)) continue;
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

/** Each stem once, in an order independent of the query's, so that equal sums have equal rounding. */
function distinct(words: readonly Word[]): Word[] {
  const first = new Map<string, Word>();
  for (const word of words) if (!first.has(word.stem) && first.size < MAX_QUERY_WORDS) first.set(word.stem, word);
  return [...first.values()].toSorted((a, b) => (a.stem < b.stem ? -1 : 1));
}
