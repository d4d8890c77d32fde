import { createSignal } from 'solid-js';
import { type Problem, toProblem } from '#ui/src/kernel/problem.ts';

export interface Query<T> {
  /** The newest answer; it stays while a newer one is awaited or has failed. */
  readonly data: () => T | undefined;
  readonly problem: () => Problem | undefined;
  readonly pending: () => boolean;
  /** Whether the answer is one to an earlier question, such as another filter. */
  readonly stale?: () => boolean;
  readonly reload: () => Promise<void>;
}

/** Data of one call that is asked for by hand. A reload gives up the one before it, so an old answer never replaces a newer one. */
export function createQuery<T>(load: (signal: AbortSignal) => Promise<T>): Query<T> {
  const { query, follow } = createQuerySignals<T>();
  let current: AbortController | undefined;
  return {
    ...query,
    async reload() {
      current?.abort();
      const mine = new AbortController();
      current = mine;
      await follow(
        () => load(mine.signal),
        () => mine === current,
      );
    },
  };
}

/**
 * The state of a query. The parts that an answer has in common with the one before stay the same objects, so that no row is drawn
 * anew, and no menu in it closed, where nothing changed; the answer itself is always another, so that who waits for one hears of each.
 */
export function createQuerySignals<T>(): {
  readonly query: Omit<Query<T>, 'reload'>;
  readonly follow: (load: () => Promise<T>, isCurrent: () => boolean) => Promise<void>;
} {
  const [data, setData] = createSignal<T>();
  const [problem, setProblem] = createSignal<Problem>();
  const [pending, setPending] = createSignal(false);
  return {
    query: { data, problem, pending },
    async follow(load, isCurrent) {
      setPending(true);
      try {
        const answer = await load();
        if (!isCurrent()) return;
        setData((before) => anew(keepEqual(before, answer)));
        setProblem(undefined);
      } catch (fault) {
        const found = toProblem(fault);
        // What was given up is no fault to tell about.
        if (isCurrent() && found.code !== 'aborted') setProblem(found);
      } finally {
        if (isCurrent()) setPending(false);
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

interface Poll {
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

function anew<T>(answer: T): T {
  if (Array.isArray(answer)) return [...answer] as T;
  return isPlain(answer) ? { ...answer } : answer;
}

/** JSON as `next`, made of the parts of `before` wherever they are equal; members of lists are matched by their `id`, or their place. */
export function keepEqual<T>(before: unknown, next: T): T {
  if (Array.isArray(next)) return Array.isArray(before) ? (keepItems(before, next) as T) : next;
  if (!isPlain(before) || !isPlain(next)) return next;
  const members = Object.entries(next).map(
    ([name, value]) => [name, Object.hasOwn(before, name) ? keepEqual(before[name], value) : value] as const,
  );
  const same =
    members.length === Object.keys(before).length &&
    // In the same order, which a person sees.
    Object.keys(before).every((name, place) => members[place]?.[0] === name && Object.is(members[place][1], before[name]));
  return (same ? before : Object.fromEntries(members)) as T;
}

function keepItems(before: readonly unknown[], next: readonly unknown[]): readonly unknown[] {
  const by_id = new Map(before.map((item) => [idOf(item), item]));
  const merged = next.map((item, place) => {
    const id = idOf(item);
    return keepEqual(id === undefined ? before[place] : by_id.get(id), item);
  });
  const same = merged.length === before.length && merged.every((item, place) => Object.is(item, before[place]));
  return same ? before : merged;
}

const idOf = (item: unknown): unknown => (isPlain(item) ? item['id'] : undefined);

const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** Several queries as one: the first problem, and all of them again. */
export const together = (...queries: readonly Pick<Query<unknown>, 'problem' | 'reload'>[]) => ({
  problem: () => queries.map((query) => query.problem()).find((problem) => problem !== undefined),
  reload: async () => void (await Promise.all(queries.map((query) => query.reload()))),
});
