import { createSignal } from 'solid-js';
import { type Problem, toProblem } from '#ui/src/kernel/problem.ts';

export interface Query<T> {
  /** The newest answer; it stays while a newer one is loading or after it failed. */
  readonly data: () => T | undefined;
  readonly problem: () => Problem | undefined;
  readonly pending: () => boolean;
  /** Whether the answer belongs to an earlier input, such as another filter. */
  readonly stale?: () => boolean;
  readonly reload: () => Promise<void>;
}

/** The data of a call, loaded by `reload`. A reload aborts the earlier one, so an old answer never replaces a newer one. */
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
 * The state of a query. Equal parts of successive answers stay the same objects, so unchanged rows are not redrawn and their menus stay
 * open; the answer itself is always a new object, so that every answer notifies its readers.
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
        // An aborted request is not an error.
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

/** Repeats `run` `every_ms` after the last run ended; while `visible` is false it waits without calling. */
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

/** `next` with equal parts replaced by those of `before`; members of lists are matched by `id`, otherwise by index. */
export function keepEqual<T>(before: unknown, next: T): T {
  if (Array.isArray(next)) return Array.isArray(before) ? (keepItems(before, next) as T) : next;
  if (!isPlain(before) || !isPlain(next)) return next;
  const members = Object.entries(next).map(
    ([name, value]) => [name, Object.hasOwn(before, name) ? keepEqual(before[name], value) : value] as const,
  );
  const same =
    members.length === Object.keys(before).length &&
    // In the same order, which is visible to people.
    Object.keys(before).every((name, index) => members[index]?.[0] === name && Object.is(members[index][1], before[name]));
  return (same ? before : Object.fromEntries(members)) as T;
}

function keepItems(before: readonly unknown[], next: readonly unknown[]): readonly unknown[] {
  const by_id = new Map(before.map((item) => [idOf(item), item]));
  const merged = next.map((item, index) => {
    const id = idOf(item);
    return keepEqual(id === undefined ? before[index] : by_id.get(id), item);
  });
  const same = merged.length === before.length && merged.every((item, index) => Object.is(item, before[index]));
  return same ? before : merged;
}

const idOf = (item: unknown): unknown => (isPlain(item) ? item['id'] : undefined);

const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** Combines queries: the first problem, and a reload of all. */
export const together = (...queries: readonly Pick<Query<unknown>, 'problem' | 'reload'>[]) => ({
  problem: () => queries.map((query) => query.problem()).find((problem) => problem !== undefined),
  reload: async () => void (await Promise.all(queries.map((query) => query.reload()))),
});
