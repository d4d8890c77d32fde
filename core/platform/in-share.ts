import { AppError } from '#core/errors.ts';

/** Limits how many runs of some work a caller can have at once. Throws `rate_limited` with the given sentence above `most`. */
export async function inShare<T>(
  counts: Map<string, number>,
  caller: string,
  { most, sentence }: { readonly most: number; readonly sentence: string },
  work: () => Promise<T>,
): Promise<T> {
  const count = counts.get(caller) ?? 0;
  if (count >= most) throw new AppError('rate_limited', sentence, { retry_after: 5 });
  counts.set(caller, count + 1);
  try {
    return await work();
  } finally {
    const left = (counts.get(caller) ?? 1) - 1;
    if (left === 0) counts.delete(caller);
    else counts.set(caller, left);
  }
}
