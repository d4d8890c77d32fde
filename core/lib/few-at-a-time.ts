import { createSlices } from './slices.ts';

/** Works through a list a few at a time; the answers are in its order. */
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
