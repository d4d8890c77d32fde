import { AppError } from '#core/errors.ts';
import { withTimeout } from '#core/lib/with-timeout.ts';
import { Stop, type StopSignal } from './stop.ts';
import type { Timeouts } from './timeouts.ts';

export interface Deadline<Signal extends StopSignal = AbortSignal> {
  /** Aborted with the AppError to reject with: `timeout` when the time is up, `cancelled` when the caller disconnected. */
  readonly signal: Signal;
  clear(): void;
}

const gone = () => new AppError('cancelled', 'The caller disconnected, so the statement was cancelled.');
const late = (timeout_ms: number) =>
  new AppError('timeout', `The statement did not finish within ${timeout_ms} ms and was stopped.`);

/** Returns one signal for the time limit of a call (milliseconds) and for its caller's signal. */
export function openDeadline(timeout_ms: number, caller?: StopSignal): Deadline {
  const controller = new AbortController();
  const cancel = () => controller.abort(gone());
  if (caller?.aborted) cancel();
  const timer = setTimeout(() => controller.abort(late(timeout_ms)), timeout_ms);
  caller?.addEventListener('abort', cancel, { once: true });
  return {
    signal: controller.signal,
    clear() {
      clearTimeout(timer);
      caller?.removeEventListener('abort', cancel);
    },
  };
}

/** Like `openDeadline`, for one piece of work. Clears the timer when the work ends. */
export async function withDeadline<Result>(
  timeout_ms: number,
  caller: StopSignal | undefined,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const deadline = openDeadline(timeout_ms, caller);
  try {
    return await work(deadline.signal);
  } finally {
    deadline.clear();
  }
}

/** Like `openDeadline`, but without a timer and an AbortSignal per call: it is used thousands of times per second. */
export function openLightDeadline(timeouts: Timeouts, timeout_ms: number, caller?: StopSignal): Deadline<Stop> {
  const signal = new Stop();
  const cancel = () => signal.abort(gone());
  if (caller?.aborted) cancel();
  const timeout = timeouts.add(timeout_ms, () => signal.abort(late(timeout_ms)));
  caller?.addEventListener('abort', cancel, { once: true });
  return {
    signal,
    clear() {
      timeout.clear();
      caller?.removeEventListener('abort', cancel);
    },
  };
}

/** Rejects when the work takes longer than `ms` milliseconds. */
export const within = <Result>(ms: number, work: Promise<Result>): Promise<Result> =>
  withTimeout(work, ms, () => {
    throw new Error(`The server sent nothing for ${ms} ms.`);
  });

/** Rejects with the reason of the signal as soon as it is aborted. The result of the work is then ignored. */
export function untilAborted<Result>(signal: StopSignal, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
