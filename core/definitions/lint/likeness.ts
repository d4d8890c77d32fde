/** Of a long description the beginning counts: what a model reads first. */
const COMPARED = 500;

/** Descriptions with so much in common are too similar. */
export const SIMILAR_FROM = 0.8;

/** The groups of three letters of a text, each once, in the order of their numbers. */
export type Grams = Uint32Array;

export interface Text {
  /** Its own among all texts. */
  readonly name: string;
  readonly grams: Grams;
}

/** The first by name of the texts that are like one. */
export interface Similar<T> {
  readonly other: T;
  readonly share: number;
}

/** Which of many texts are alike. Texts enter and leave; what it answers depends on those that are in it alone. */
export interface SimilarityIndex<T extends Text> {
  move(removed: readonly T[], added: readonly T[], turn: () => Promise<void>): Promise<void>;
  /** Of a text that is in it. */
  likeOf(text: T): Similar<T> | null;
  /** Of any other. @param isSame tells the text that it replaces. */
  likeAny(grams: Grams, isSame: (text: T) => boolean): Similar<T> | null;
}

interface Entry<T> {
  readonly text: T;
  readonly groups: Groups;
  like: { readonly entry: Entry<T>; readonly share: number } | null;
  gone: boolean;
  /** The last question that met it. */
  met: number;
}

/** The groups of a text in an order that all texts share: how often each is there, then its number, in one number. */
type Groups = Float64Array;

/** Rounding makes no group more of a product. */
const atLeast = (count: number): number => Math.ceil(count - 1e-9);

/** Of two texts that are alike, the first so many groups of one cannot all be missing in the other. */
const firstOf = (groups: Groups): Groups => groups.subarray(0, groups.length - atLeast(SIMILAR_FROM * groups.length) + 1);

/**
 * Texts that are alike share one of their rarest groups (prefix filter), so only texts with such a group in common are compared, and
 * of these only those whose place in the order leaves enough groups (position filter). Any fixed order finds all of them; the one by
 * rarity finds few others. It is taken anew when the texts have doubled.
 */
export function createSimilarityIndex<T extends Text>(): SimilarityIndex<T> {
  let often = new Map<number, number>();
  let ordered = 0;
  let question = 0;
  const entries = new Map<T, Entry<T>>();
  /** By each of their first groups; sorted by name. */
  let holders = new Map<number, Entry<T>[]>();

  const groupsOf = (grams: Grams): Groups => Float64Array.from(grams, (gram) => (often.get(gram) ?? 0) * 2 ** 32 + gram).sort();

  /** @param isLast ends the list of one group. @param take gets each text that is like these groups, once. */
  const search = (
    groups: Groups,
    isLast: (entry: Entry<T>) => boolean,
    isWanted: (entry: Entry<T>) => boolean,
    take: (entry: Entry<T>, share: number) => void,
  ): void => {
    const asked = ++question;
    for (const [at, group] of firstOf(groups).entries()) {
      for (const entry of holders.get(group) ?? []) {
        if (isLast(entry)) break;
        if (entry.met === asked) continue;
        entry.met = asked;
        if (!isWanted(entry)) continue;
        // It is the first group that both have.
        const share = shareOf(groups, at, entry.groups, entry.groups.indexOf(group));
        if (share > 0) take(entry, share);
      }
    }
  };

  const likeAmong = (groups: Groups, isSame: (text: T) => boolean): Entry<T>['like'] => {
    let best: Entry<T>['like'] = null;
    search(
      groups,
      ({ text }) => best !== null && text.name >= best.entry.text.name,
      ({ text }) => !isSame(text),
      (entry, share) => {
        best = { entry, share };
      },
    );
    return best;
  };
  const likeAgain = (entry: Entry<T>): void => {
    entry.like = likeAmong(entry.groups, (other) => other === entry.text);
  };

  const remove = (text: T): void => {
    const entry = entries.get(text);
    if (entry === undefined) return;
    entries.delete(text);
    entry.gone = true;
    for (const gram of firstOf(entry.groups)) {
      const list = holders.get(gram) ?? [];
      list.splice(list.indexOf(entry), 1);
      if (list.length === 0) holders.delete(gram);
    }
  };
  const add = (text: T): Entry<T> => {
    const entry = { text, groups: groupsOf(text.grams), like: null, gone: false, met: 0 };
    entries.set(text, entry);
    for (const gram of firstOf(entry.groups)) {
      const list = holders.get(gram);
      if (list === undefined) holders.set(gram, [entry]);
      else list.splice(placeOf(list, text.name), 0, entry);
    }
    return entry;
  };
  /** Of those that come after it, some would have found it first. */
  const tell = (added: Entry<T>): void =>
    search(
      added.groups,
      () => false,
      ({ text, like }) => text !== added.text && (like === null || like.entry.text.name > added.text.name),
      (entry, share) => {
        entry.like = { entry: added, share };
      },
    );

  const orderAnew = async (texts: readonly T[], turn: () => Promise<void>): Promise<void> => {
    often = new Map();
    holders = new Map();
    entries.clear();
    ordered = texts.length;
    for (const { grams } of texts) {
      for (const gram of grams) often.set(gram, (often.get(gram) ?? 0) + 1);
      await turn();
    }
    for (const text of texts.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      add(text);
      await turn();
    }
    for (const entry of entries.values()) {
      likeAgain(entry);
      await turn();
    }
  };

  return {
    async move(removed, added, turn) {
      for (const text of removed) remove(text);
      if (entries.size + added.length > 2 * ordered) return orderAnew([...entries.keys(), ...added], turn);
      const fresh = added.map(add);
      const lost = removed.length === 0 ? [] : [...entries.values()].filter(({ like }) => like?.entry.gone === true);
      for (const entry of new Set([...lost, ...fresh])) {
        likeAgain(entry);
        await turn();
      }
      for (const entry of fresh) {
        tell(entry);
        await turn();
      }
    },
    likeOf(text) {
      const like = entries.get(text)?.like ?? null;
      return like && { other: like.entry.text, share: like.share };
    },
    likeAny(grams, isSame) {
      const like = likeAmong(groupsOf(grams), isSame);
      return like && { other: like.entry.text, share: like.share };
    },
  };
}

/** Where a name belongs among others. */
function placeOf(sorted: readonly { readonly text: Text }[], name: string): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]!.text.name < name) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** How much two texts have in common (Jaccard) whose first common groups are at these places; 0 when that is not enough. */
function shareOf(one: Groups, first: number, other: Groups, second: number): number {
  const wanted = atLeast((SIMILAR_FROM / (1 + SIMILAR_FROM)) * (one.length + other.length));
  let [a, b, common] = [first, second, 0];
  while (common + Math.min(one.length - a, other.length - b) >= wanted) {
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
    .slice(0, COMPARED)
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
