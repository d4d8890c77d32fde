import { deferred } from './deferred.ts';

/**
 * What the work gives, or what `late` gives or throws when it is not done after so many milliseconds; what becomes of the work then
 * is nobody's concern any more.
 */
export async function withTimeout<Result, Late = void>(
  work: PromiseLike<Result>,
  ms: number,
  late: () => Late,
): Promise<Result | Late> {
  const { promise, resolve } = deferred<void>();
  const timer = setTimeout(resolve, ms);
  try {
    return await Promise.race([work, promise.then(late)]);
  } finally {
    clearTimeout(timer);
  }
}
