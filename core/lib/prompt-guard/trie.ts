/** Words as paths of code units. A node is a number, and all nodes share a few arrays: tens of thousands of objects would be passed at each collection of garbage. */
export interface Trie {
  /** The node behind a code unit; `NONE` without one, or when `code` is no number. */
  next(node: number, code: number): number;
  /** Whether anything but `ANY` is behind a node. */
  goesOn(node: number): boolean;
  /** The names of the words that end at a node. */
  namesAt(node: number): readonly string[];
}

export const ROOT = 0;
export const NONE = -1;
/** Stands in a path for whatever follows; no text has such a code unit. */
export const ANY = 2 ** 16;
const CODES = 2 ** 17;

/** @param words the path of each word and its name. */
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
  // Of one node after the other, by their codes.
  const keys = Float64Array.from(edges.keys()).sort();
  const codes = Uint32Array.from(keys, (key) => key % CODES);
  const targets = Uint32Array.from(keys, (key) => edges.get(key) ?? 0);
  const first = new Uint32Array(count + 1);
  for (const key of keys) first[Math.floor(key / CODES) + 1]! += 1;
  for (let node = 1; node <= count; node++) first[node]! += first[node - 1]!;
  // Few lists of names are distinct.
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
