/** Short enough that nobody notices the wait. */
const SLICE_MS = 10;

/**
 * Long work in slices: await the answer between two steps, and other requests have their turn whenever a slice has taken its
 * time. A promise alone gives nobody a turn: what is embedded answers at once.
 */
export function createSlices(slice_ms = SLICE_MS): () => Promise<void> {
  let begun = performance.now();
  return async () => {
    if (performance.now() - begun < slice_ms) return;
    await new Promise((resolve) => setImmediate(resolve));
    begun = performance.now();
  };
}

/** Milliseconds that work which nobody waits for takes at once, and those that it leaves to others then. */
const REST = { after_ms: 5, for_ms: 15 };

/** The same for work that nobody waits for. It rests: a request of many short steps would wait for a slice at each of them. */
export function createRests({ after_ms, for_ms } = REST): () => Promise<void> {
  let begun = performance.now();
  return async () => {
    if (performance.now() - begun < after_ms) return;
    await new Promise((resolve) => setTimeout(resolve, for_ms));
    begun = performance.now();
  };
}

/** The items in lists of at most `size` that follow each other and are alike, in order. */
export function runsOf<T>(items: readonly T[], size: number, isAlike: (first: T, next: T) => boolean): T[][] {
  const runs: T[][] = [];
  for (const item of items) {
    const last = runs.at(-1);
    const [first] = last ?? [];
    if (last !== undefined && first !== undefined && last.length < size && isAlike(first, item)) last.push(item);
    else runs.push([item]);
  }
  return runs;
}

/** The items in lists of at most `size`, in order. */
export function* pagesOf<T>(items: readonly T[], size: number): Generator<T[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}
