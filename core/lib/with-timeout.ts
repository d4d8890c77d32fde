/** Returns the result of the work, or what `late` returns or throws after `ms` milliseconds. A later result is ignored. */
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

/** `Promise.withResolvers`, which Node supports since version 22. Generated projects also run on version 20. */
export function deferred<Result>(): PromiseWithResolvers<Result> {
  let resolve!: PromiseWithResolvers<Result>['resolve'];
  let reject!: PromiseWithResolvers<Result>['reject'];
  const promise = new Promise<Result>((...both) => ([resolve, reject] = both));
  return { promise, resolve, reject };
}
