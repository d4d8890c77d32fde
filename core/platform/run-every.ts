import type { Platform } from '#core/platform/platform.ts';
import { reasonOf } from '#core/process/log.ts';
import { onSignal, type Signal } from './signals.ts';

export interface RegularWork {
  readonly every_ms: number;
  /** Name of the work in the log. */
  readonly what: string;
  readonly work: () => Promise<void>;
  /** Starts the first run immediately. */
  readonly at_once?: boolean;
  /** A signal that starts the next run early. */
  readonly wake?: Signal;
}

/**
 * Runs work periodically, one run at a time. A failed run is logged and the next one tries again. Closing the app waits for the
 * current run. @returns a function that stops it.
 */
export function runEvery(app: Platform, { every_ms, what, work, at_once = false, wake }: RegularWork): () => void {
  let working = false;
  let again = false;
  let ended = false;
  const turn = (): void => {
    if (working) return;
    working = true;
    again = false;
    app.background(
      (async () => work())()
        .catch((error: unknown) => app.log.warning(`${what} failed`, { reason: reasonOf(error) }))
        .finally(() => {
          working = false;
          if (again && !ended) turn();
        }),
    );
  };
  if (at_once) turn();
  const timer = setInterval(turn, every_ms);
  timer.unref();
  const woken = (): void => {
    // The current run may have read data from before the signal.
    again = working;
    turn();
  };
  const endWaking = wake === undefined ? () => undefined : onSignal(app, wake, woken);
  return () => {
    ended = true;
    endWaking();
    clearInterval(timer);
  };
}
