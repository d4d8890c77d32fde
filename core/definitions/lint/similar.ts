/** Of a long description the beginning counts: what a model reads first. */
const COMPARED = 500;
/** Descriptions with so much in common are too similar. */
export const ALIKE = 0.8;

/** The groups of three letters of a text, each once, in the order of their numbers. */
export type Grams = Uint32Array;

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

/** How much two texts have in common, from 0 to 1 (Jaccard). */
export function alike(one: Grams, other: Grams): number {
  let [a, b, common] = [0, 0, 0];
  while (a < one.length && b < other.length) {
    const [x, y] = [one[a] ?? 0, other[b] ?? 0];
    if (x === y) common++;
    if (x <= y) a++;
    if (y <= x) b++;
  }
  const all = one.length + other.length - common;
  return all === 0 ? 0 : common / all;
}

/** Texts of so different lengths cannot be alike. */
const mayBeAlike = (one: Grams, other: Grams): boolean =>
  Math.min(one.length, other.length) >= ALIKE * Math.max(one.length, other.length);

/** The first of some texts that is like one; null when none is. */
export function likeOne<T extends { readonly grams: Grams }>(
  one: Grams,
  others: Iterable<T>,
): { other: T; share: number } | null {
  if (one.length === 0) return null;
  for (const other of others) {
    if (!mayBeAlike(one, other.grams)) continue;
    const share = alike(one, other.grams);
    if (share >= ALIKE) return { other, share };
  }
  return null;
}

/** Comparisons that one text may cost: descriptions from one mould share their groups without being alike. */
const MOST_COMPARED = 500;

/**
 * For each text one that is like it. Texts that are alike share one of their rarest groups, so that only texts with such a group in
 * common are compared: many texts cost about as much as reading them.
 */
export async function likeEach<T extends { readonly grams: Grams }>(
  texts: readonly T[],
  turn: () => Promise<void>,
): Promise<Map<T, { other: T; share: number }>> {
  const often = new Map<number, number>();
  for (const { grams } of texts) for (const gram of grams) often.set(gram, (often.get(gram) ?? 0) + 1);
  const found = new Map<T, { other: T; share: number }>();
  const holders = new Map<number, T[]>();
  for (const text of texts) {
    await turn();
    const { grams } = text;
    // Of two texts that are alike, at most this many groups of one are not in the other.
    const most = grams.length - Math.ceil(ALIKE * grams.length) + 1;
    const rare = [...grams].sort((a, b) => (often.get(a) ?? 0) - (often.get(b) ?? 0) || a - b).slice(0, most);
    const like = likeOne(grams, firstOf(rare, holders));
    if (like !== null) {
      found.set(text, like);
      if (!found.has(like.other)) found.set(like.other, { other: text, share: like.share });
    }
    for (const gram of rare) {
      const list = holders.get(gram);
      if (list === undefined) holders.set(gram, [text]);
      else list.push(text);
    }
  }
  return found;
}

/** Each text that has one of these groups, once, and no more than may be compared. */
function* firstOf<T>(grams: readonly number[], holders: ReadonlyMap<number, readonly T[]>): Generator<T> {
  const seen = new Set<T>();
  for (const gram of grams) {
    for (const other of holders.get(gram) ?? []) {
      if (seen.has(other)) continue;
      if (seen.size >= MOST_COMPARED) return;
      seen.add(other);
      yield other;
    }
  }
}
