import type { App } from '#core/app.ts';

/**
 * Does something again and again, never twice at once; a failure is logged and the next turn tries again. The app's end waits
 * for a turn that runs. @param what names it in the log. @param at_once also does it now. @returns a function that ends it.
 */
export function repeat(app: App, every_ms: number, what: string, work: () => Promise<void>, at_once = false): () => void {
  let working = false;
  const turn = (): void => {
    if (working) return;
    working = true;
    app.background(
      work()
        .catch((error: unknown) => app.log.warning(`${what} failed`, { reason: String(error) }))
        .finally(() => {
          working = false;
        }),
    );
  };
  if (at_once) turn();
  const timer = setInterval(turn, every_ms);
  timer.unref();
  return () => clearInterval(timer);
}
