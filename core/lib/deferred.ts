/** `Promise.withResolvers`, which Node has only since version 22: a generated project runs on version 20 too. */
export function deferred<Result>(): PromiseWithResolvers<Result> {
  let resolve!: PromiseWithResolvers<Result>['resolve'];
  let reject!: PromiseWithResolvers<Result>['reject'];
  const promise = new Promise<Result>((...both) => ([resolve, reject] = both));
  return { promise, resolve, reject };
}
