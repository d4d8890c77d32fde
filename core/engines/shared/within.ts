import type { StopSignal } from './stop.ts';

/** Rejects when the work is not done after so many milliseconds; what it becomes then is nobody's concern any more. */
export function within<Result>(ms: number, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`The server sent nothing for ${ms} ms.`)), ms);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** Rejects with the reason of the signal as soon as it is aborted; what the work becomes then is nobody's concern any more. */
export function untilAborted<Result>(signal: StopSignal, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
