import type { Platform } from '#core/platform/platform.ts';
import { onSignal, type Signal } from './signals.ts';

export interface RegularWork {
  readonly every_ms: number;
  /** Names the work in the log. */
  readonly what: string;
  readonly work: () => Promise<void>;
  /** The first turn is now. */
  readonly at_once?: boolean;
  /** Ends the wait for the next turn. */
  readonly wake?: Signal;
}

/**
 * Works in turns, never in two at once; a turn that fails is logged and the next one tries again. The end of the app waits for a turn
 * that runs. @returns a function that ends it.
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
        .catch((error: unknown) => app.log.warning(`${what} failed`, { reason: String(error) }))
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
    // What a turn has read may be older than the signal.
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
