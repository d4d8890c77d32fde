import type { Platform } from '#core/platform/platform.ts';
import { reasonOf } from '#core/process/log.ts';
import { onSignal, type Signal } from './signals.ts';

/** `idle`: there is nothing to do before the database is written or the signal comes, however much time passes. */
export type Outcome = 'idle' | void;

export interface RegularWork {
  readonly every_ms: number;
  /** Name of the work in the log. */
  readonly what: string;
  readonly work: () => Promise<Outcome>;
  /** Starts the first run immediately. */
  readonly at_once?: boolean;
  /** A signal that starts the next run early. */
  readonly wake?: Signal;
}

/**
 * Runs work periodically, one run at a time. A failed run is logged and the next one tries again. Work that is idle is not run again
 * before the database is written, if the store knows the last write. Closing the app waits for the current run. @returns a function that stops it.
 */
export function runEvery(app: Platform, { every_ms, what, work, at_once = false, wake }: RegularWork): () => void {
  let working = false;
  let again = false;
  let ended = false;
  /** The last write before a run that had nothing to do. */
  let idle_since: string | null = null;
  const run = async (): Promise<void> => {
    const written = app.store.lastWrite();
    idle_since = null;
    if ((await work()) === 'idle') idle_since = written;
  };
  const turn = (): void => {
    if (working) return;
    working = true;
    again = false;
    app.background(
      run()
        .catch((error: unknown) => app.log.warning(`${what} failed`, { reason: reasonOf(error) }))
        .finally(() => {
          working = false;
          if (again && !ended) turn();
        }),
    );
  };
  if (at_once) turn();
  const timer = setInterval(() => {
    if (idle_since === null || idle_since !== app.store.lastWrite()) turn();
  }, every_ms);
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
