/**
 * Words as paths of code units. Nodes are numbers in a few shared arrays, because tens of thousands of objects would slow down
 * garbage collection.
 */
export interface Trie {
  /** The node after a code unit. `NONE` when there is none, or when `code` is not a number. */
  next(node: number, code: number): number;
  /** Whether a node has any successor other than `ANY`. */
  goesOn(node: number): boolean;
  /** The names of the words that end at a node. */
  namesAt(node: number): readonly string[];
}

export const ROOT = 0;
export const NONE = -1;
/** The wildcard of a path. No text contains this code unit. */
export const ANY = 2 ** 16;
const CODES = 2 ** 17;

/** @param words the path and the name of each word. */
export function createTrie(words: Iterable<readonly [path: readonly number[], name: string]>): Trie {
  const edges = new Map<number, number>();
  const ends = new Map<number, string[]>();
  let count = 1;
  for (const [path, name] of words) {
    let here = ROOT;
    for (const code of path) {
      const key = here * CODES + code;
      const known = edges.get(key);
      if (known === undefined) edges.set(key, count);
      here = known ?? count++;
    }
    const names = ends.get(here);
    if (names === undefined) ends.set(here, [name]);
    else if (!names.includes(name)) names.push(name);
  }
  // Sorted by node, then by code.
  const keys = Float64Array.from(edges.keys()).sort();
  const codes = Uint32Array.from(keys, (key) => key % CODES);
  const targets = Uint32Array.from(keys, (key) => edges.get(key) ?? 0);
  const first = new Uint32Array(count + 1);
  for (const key of keys) first[Math.floor(key / CODES) + 1]! += 1;
  for (let node = 1; node <= count; node++) first[node]! += first[node - 1]!;
  // Many nodes have the same list of names.
  const lists: (readonly string[])[] = [[]];
  const known = new Map<string, number>();
  const list_of = new Uint16Array(count);
  for (const [node, names] of ends) {
    const key = names.join();
    if (!known.has(key)) known.set(key, lists.push(names) - 1);
    list_of[node] = known.get(key)!;
  }
  return {
    next(node, code) {
      let low = first[node]!;
      const end = first[node + 1]!;
      for (let high = end; low < high;) {
        const middle = (low + high) >>> 1;
        if (codes[middle]! < code) low = middle + 1;
        else high = middle;
      }
      return low < end && codes[low] === code ? targets[low]! : NONE;
    },
    goesOn: (node) => first[node]! < first[node + 1]! && codes[first[node]!] !== ANY,
    namesAt: (node) => lists[list_of[node]!]!,
  };
}
