import { setImmediate as nextTurn } from 'node:timers/promises';

/** Maximum milliseconds of a slice: other requests do not notice the delay. */
const SLICE_MS = 10;

/**
 * Splits long work into slices: await the returned function between two steps, and other requests run whenever a slice has used
 * its time. Awaiting a promise alone does not yield, because an embedded database answers at once.
 */
export function createSlices(slice_ms = SLICE_MS): () => Promise<void> {
  let begun = performance.now();
  return async () => {
    if (performance.now() - begun < slice_ms) return;
    await new Promise((resolve) => setImmediate(resolve));
    begun = performance.now();
  };
}

/** Lets what has arrived at sockets be handled, and what was sent be written. Awaiting an embedded database does not, as it answers at once. */
export async function turnsOfEventLoop(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await nextTurn();
}

/** Background work runs for `after_ms` milliseconds, then pauses for `for_ms`. */
const REST = { after_ms: 5, for_ms: 15 };

/** Slices for background work, with pauses: a request with many short steps would otherwise wait for a slice at each step. */
export function createRests({ after_ms, for_ms } = REST): () => Promise<void> {
  let begun = performance.now();
  return async () => {
    if (performance.now() - begun < after_ms) return;
    await new Promise((resolve) => setTimeout(resolve, for_ms));
    begun = performance.now();
  };
}

/** Groups consecutive items that are alike into lists of at most `size`. */
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

/** Splits items into lists of at most `size`. */
export function* pagesOf<T>(items: readonly T[], size: number): Generator<T[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}

/** Processes a list with at most `most` items at once. Results are in the order of the items. */
export async function fewAtATime<T, R>(items: readonly T[], most: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const answers: R[] = [];
  const turn = createSlices();
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let n = next++; n < items.length; n = next++) {
      answers[n] = await work(items[n] as T);
      await turn();
    }
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, worker));
  return answers;
}
