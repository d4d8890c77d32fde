import { createSignal } from 'solid-js';
import { browserTimers, type Timers } from '#ui/src/kernel/data/query.ts';

interface Countdown {
  /** Whole seconds that remain; 0 when nothing is waited for. */
  readonly left: () => number;
  start(seconds: number): void;
  stop(): void;
}

/** Counts towards a moment of the clock: a browser that stops the timers of a hidden page does not make it longer. */
export function createCountdown(timers: Timers = browserTimers, now: () => number = Date.now): Countdown {
  const [left, setLeft] = createSignal(0);
  let timer: unknown;
  let end = 0;
  const tick = () => {
    if (setLeft(Math.max(0, Math.ceil((end - now()) / 1_000))) > 0) timer = timers.set(tick, 1_000);
  };
  const stop = () => {
    timers.clear(timer);
    setLeft(0);
  };
  return {
    left,
    stop,
    start(seconds) {
      timers.clear(timer);
      end = now() + Math.ceil(seconds) * 1_000;
      tick();
    },
  };
}
