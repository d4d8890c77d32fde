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

/** `Promise.withResolvers`, which Node has only since version 22: a generated project runs on version 20 too. */
export function deferred<Result>(): PromiseWithResolvers<Result> {
  let resolve!: PromiseWithResolvers<Result>['resolve'];
  let reject!: PromiseWithResolvers<Result>['reject'];
  const promise = new Promise<Result>((...both) => ([resolve, reject] = both));
  return { promise, resolve, reject };
}
