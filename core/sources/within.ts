/** Rejects when the work is not done after so many milliseconds; what it becomes then is nobody's concern any more. */
export function within<Result>(ms: number, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`The server stayed silent for ${ms} ms.`)), ms);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
