import type { App } from '#core/app.ts';
import { onSignal, type Signal } from '#core/cluster/signals.ts';

/**
 * Does something again and again, never twice at once; a failure is logged and the next turn tries again. The app's end waits
 * for a turn that runs. @param what names it in the log. @param at_once also does it now. @param wake a signal that it does it for.
 * @returns a function that ends it.
 */
export function repeat(
  app: App,
  every_ms: number,
  what: string,
  work: () => Promise<void>,
  at_once = false,
  wake: Signal | null = null,
): () => void {
  let working = false;
  let again = false;
  let ended = false;
  const turn = (): void => {
    if (working) return;
    working = true;
    again = false;
    app.background(
      work()
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
  const endWaking =
    wake === null
      ? () => undefined
      : onSignal(app, wake, () => {
          // What a turn has read may be older than the signal.
          again = working;
          turn();
        });
  return () => {
    ended = true;
    endWaking();
    clearInterval(timer);
  };
}
