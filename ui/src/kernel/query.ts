import { createSignal } from 'solid-js';
import { type Problem, toProblem } from './problem.ts';

export interface Query<T> {
  /** The newest answer; it stays while a newer one is awaited or has failed. */
  readonly data: () => T | undefined;
  readonly problem: () => Problem | undefined;
  readonly pending: () => boolean;
  readonly reload: () => Promise<void>;
}

/** Data of one call. A reload gives up the one before it, so an old answer never replaces a newer one. */
export function createQuery<T>(load: (signal: AbortSignal) => Promise<T>): Query<T> {
  const [data, setData] = createSignal<T>();
  const [problem, setProblem] = createSignal<Problem>();
  const [pending, setPending] = createSignal(false);
  let current: AbortController | undefined;

  return {
    data,
    problem,
    pending,
    async reload() {
      current?.abort();
      const mine = new AbortController();
      current = mine;
      setPending(true);
      try {
        const answer = await load(mine.signal);
        if (mine !== current) return;
        setData(() => answer);
        setProblem(undefined);
      } catch (fault) {
        if (mine === current) setProblem(toProblem(fault));
      } finally {
        if (mine === current) setPending(false);
      }
    },
  };
}

export interface Timers {
  set(run: () => void, ms: number): unknown;
  clear(timer: unknown): void;
}

export const browserTimers: Timers = {
  set: (run, ms) => setTimeout(run, ms),
  clear: (timer) => clearTimeout(timer as ReturnType<typeof setTimeout>),
};

export interface Poll {
  readonly start: () => void;
  readonly stop: () => void;
}

/** Repeats `run` `every_ms` after the last one ended; while `visible` is false it waits without calling. */
export function createPoll(options: {
  run: () => Promise<void>;
  every_ms: number;
  visible: () => boolean;
  timers?: Timers;
}): Poll {
  const { run, every_ms, visible, timers = browserTimers } = options;
  let timer: unknown;
  let running = false;

  const tick = async () => {
    if (visible()) await run();
    if (running) timer = timers.set(() => void tick(), every_ms);
  };

  return {
    start() {
      if (running) return;
      running = true;
      timer = timers.set(() => void tick(), every_ms);
    },
    stop() {
      running = false;
      timers.clear(timer);
    },
  };
}
