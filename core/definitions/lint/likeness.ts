/** Only the beginning of a long text is compared, which a model reads first. */
const MAX_CHARACTERS = 500;

/** Descriptions with at least this share in common are too similar. */
export const SIMILAR_FROM = 0.8;

/** Hashes of the groups of three letters in a text (trigrams), without duplicates, sorted. */
export type Grams = Uint32Array;

export interface Text {
  /** Unique among all texts. */
  readonly name: string;
  readonly grams: Grams;
}

/** The first text by name among those that are similar to another. */
export interface Similar<T> {
  readonly other: T;
  readonly share: number;
}

/** Finds similar texts. The answer depends only on the present texts, not on the order in which they were added. */
export interface SimilarityIndex<T extends Text> {
  move(removed: readonly T[], added: readonly T[], turn: () => Promise<void>): Promise<void>;
  /** For a text of the index. */
  likeOf(text: T): Similar<T> | null;
  /** For any text. @param isSame finds the text that it replaces. */
  likeAny(grams: Grams, isSame: (text: T) => boolean): Similar<T> | null;
}

interface Entry<T> {
  readonly text: T;
  readonly groups: Groups;
  like: { readonly entry: Entry<T>; readonly share: number } | null;
  gone: boolean;
  /** Number of the last search that visited it. */
  visited: number;
}

/** An entry with the index of one of its first trigrams. */
interface Holder<T> {
  readonly entry: Entry<T>;
  readonly at: number;
}

/** @property holders sorted by `compareHolders`. @property starts see `startsOf`; null: unknown since the last change. */
interface HolderList<T> {
  readonly holders: Holder<T>[];
  starts: readonly number[] | null;
}

/** The trigrams of a text in an order that all texts share: by frequency, then by hash, both in one number. */
type Groups = Float64Array;

/** Rounds up, but not for a rounding error of the product. */
const atLeast = (count: number): number => Math.ceil(count - 1e-9);

/** The first trigrams of a text. A similar text has at least one of them. */
const firstOf = (groups: Groups): Groups => groups.subarray(0, groups.length - atLeast(SIMILAR_FROM * groups.length) + 1);

export const createSimilarityIndex = <T extends Text>(): SimilarityIndex<T> => new TrigramIndex<T>();

/**
 * Similar texts share one of their rarest trigrams (prefix filter), so only texts with such a trigram in common are compared, and
 * only if enough trigrams follow it in the order (position filter). Any fixed order finds all similar texts; the order by
 * rarity finds few others. It is computed again when the number of texts has doubled.
 */
class TrigramIndex<T extends Text> implements SimilarityIndex<T> {
  #often = new Map<number, number>();
  #ordered = 0;
  #searches = 0;
  readonly #entries = new Map<T, Entry<T>>();
  /** Entries by each of their first trigrams. */
  #lists = new Map<number, HolderList<T>>();

  async move(removed: readonly T[], added: readonly T[], turn: () => Promise<void>): Promise<void> {
    for (const text of removed) this.#remove(text);
    if (this.#entries.size + added.length > 2 * this.#ordered)
      return this.#rebuildOrder([...this.#entries.keys(), ...added], turn);
    const fresh = added.map((text) => this.#add(text));
    const lost = removed.length === 0 ? [] : [...this.#entries.values()].filter(({ like }) => like?.entry.gone === true);
    for (const entry of new Set([...lost, ...fresh])) {
      this.#likeAgain(entry);
      await turn();
    }
    for (const entry of fresh) {
      this.#tell(entry);
      await turn();
    }
  }

  likeOf(text: T): Similar<T> | null {
    const like = this.#entries.get(text)?.like ?? null;
    return like && { other: like.entry.text, share: like.share };
  }

  likeAny(grams: Grams, isSame: (text: T) => boolean): Similar<T> | null {
    const like = this.#likeAmong(this.#groupsOf(grams), isSame);
    return like && { other: like.entry.text, share: like.share };
  }

  #groupsOf(grams: Grams): Groups {
    return Float64Array.from(grams, (gram) => (this.#often.get(gram) ?? 0) * 2 ** 32 + gram).sort();
  }

  /** @param isLast whether later names are needless. @param take gets each similar text once. */
  #search(
    groups: Groups,
    isLast: (entry: Entry<T>) => boolean,
    isCandidate: (entry: Entry<T>) => boolean,
    take: (entry: Entry<T>, share: number) => void,
  ): void {
    const search_number = ++this.#searches;
    for (const [at, group] of firstOf(groups).entries()) {
      const list = this.#lists.get(group);
      if (list === undefined) continue;
      const { holders } = list;
      const starts = (list.starts ??= startsOf(holders));
      for (const [part, start] of starts.entries()) {
        const { entry: first, at: other } = holders[start]!;
        // Thousands of texts that differ in a number only are passed over at once.
        if (mostInCommon(groups, at, first.groups, other) < requiredOf(groups, first.groups)) continue;
        const end = starts[part + 1] ?? holders.length;
        for (let n = start; n < end; n++) {
          const { entry } = holders[n]!;
          if (isLast(entry)) break;
          if (entry.visited === search_number) continue;
          entry.visited = search_number;
          if (!isCandidate(entry)) continue;
          // It is the first trigram that both have.
          const share = shareOf(groups, at, entry.groups, other);
          if (share > 0) take(entry, share);
        }
      }
    }
  }

  #likeAmong(groups: Groups, isSame: (text: T) => boolean): Entry<T>['like'] {
    let best: Entry<T>['like'] = null;
    this.#search(
      groups,
      ({ text }) => best !== null && text.name >= best.entry.text.name,
      ({ text }) => !isSame(text),
      (entry, share) => {
        best = { entry, share };
      },
    );
    return best;
  }

  #likeAgain(entry: Entry<T>): void {
    entry.like = this.#likeAmong(entry.groups, (other) => other === entry.text);
  }

  #remove(text: T): void {
    const entry = this.#entries.get(text);
    if (entry === undefined) return;
    this.#entries.delete(text);
    entry.gone = true;
    for (const [at, gram] of firstOf(entry.groups).entries()) {
      const list = this.#lists.get(gram);
      if (list === undefined) continue;
      list.holders.splice(insertionIndex(list.holders, { entry, at }), 1);
      list.starts = null;
      if (list.holders.length === 0) this.#lists.delete(gram);
    }
  }

  #add(text: T): Entry<T> {
    const entry = { text, groups: this.#groupsOf(text.grams), like: null, gone: false, visited: 0 };
    this.#entries.set(text, entry);
    for (const [at, gram] of firstOf(entry.groups).entries()) {
      const list = this.#lists.get(gram);
      if (list === undefined) {
        this.#lists.set(gram, { holders: [{ entry, at }], starts: ONE_PART });
        continue;
      }
      list.holders.splice(insertionIndex(list.holders, { entry, at }), 0, { entry, at });
      list.starts = null;
    }
    return entry;
  }

  /** Sets a new text as the similar text of others, unless they have one that comes first by name. */
  #tell(added: Entry<T>): void {
    this.#search(
      added.groups,
      () => false,
      ({ text, like }) => text !== added.text && (like === null || like.entry.text.name > added.text.name),
      (entry, share) => {
        entry.like = { entry: added, share };
      },
    );
  }

  async #rebuildOrder(texts: readonly T[], turn: () => Promise<void>): Promise<void> {
    this.#often = new Map();
    this.#lists = new Map();
    this.#entries.clear();
    this.#ordered = texts.length;
    for (const { grams } of texts) {
      for (const gram of grams) this.#often.set(gram, (this.#often.get(gram) ?? 0) + 1);
      await turn();
    }
    for (const text of texts.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      this.#add(text);
      await turn();
    }
    for (const entry of this.#entries.values()) {
      this.#likeAgain(entry);
      await turn();
    }
  }
}

/** By length, then by the index of the trigram, then by name. */
function compareHolders<T extends Text>(one: Holder<T>, other: Holder<T>): number {
  const alike = one.entry.groups.length - other.entry.groups.length || one.at - other.at;
  if (alike !== 0 || one.entry.text.name === other.entry.text.name) return alike;
  return one.entry.text.name < other.entry.text.name ? -1 : 1;
}

/** Index of a holder in a sorted list, or the one at which it belongs. */
function insertionIndex<T extends Text>(sorted: readonly Holder<T>[], holder: Holder<T>): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareHolders(sorted[middle]!, holder) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Most lists have one part. */
const ONE_PART: readonly number[] = [0];

/** Where the length or the index of the trigram changes in a sorted list. */
function startsOf<T extends Text>(sorted: readonly Holder<T>[]): readonly number[] {
  const starts = [0];
  for (let n = 1; n < sorted.length; n++) {
    const [before, one] = [sorted[n - 1]!, sorted[n]!];
    if (before.entry.groups.length !== one.entry.groups.length || before.at !== one.at) starts.push(n);
  }
  return starts.length === 1 ? ONE_PART : starts;
}

/** How many trigrams similar texts of these lengths have in common. */
const requiredOf = (one: Groups, other: Groups): number =>
  atLeast((SIMILAR_FROM / (1 + SIMILAR_FROM)) * (one.length + other.length));

/** How many trigrams two texts can have in common from these indexes on. */
const mostInCommon = (one: Groups, a: number, other: Groups, b: number): number => Math.min(one.length - a, other.length - b);

/** Jaccard similarity of two texts whose first common trigrams have these indexes; 0 when it is below `SIMILAR_FROM`. */
function shareOf(one: Groups, first: number, other: Groups, second: number): number {
  const required = requiredOf(one, other);
  let [a, b, common] = [first, second, 0];
  while (common + mostInCommon(one, a, other, b) >= required) {
    if (a === one.length || b === other.length) return common / (one.length + other.length - common);
    const [x, y] = [one[a]!, other[b]!];
    if (x === y) common++;
    if (x <= y) a++;
    if (y <= x) b++;
  }
  return 0;
}

export function gramsOf(text: string): Grams {
  const plain = text
    .slice(0, MAX_CHARACTERS)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
  const found = new Set<number>();
  for (let at = 0; at + 3 <= plain.length; at++) {
    const [a, b, c] = [plain.charCodeAt(at), plain.charCodeAt(at + 1), plain.charCodeAt(at + 2)];
    found.add((Math.imul(Math.imul(a, 65_599) + b, 65_599) + c) >>> 0);
  }
  return Uint32Array.from(found).sort();
}
