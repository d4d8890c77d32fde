import { createSignal, getOwner, onCleanup } from 'solid-js';
import { type Problem, toProblem } from '#ui/src/kernel/problem.ts';
import { browserTimers, createQuery, type Query, type Timers } from '#ui/src/kernel/data/query.ts';

interface LiveCheck<T> extends Omit<Query<T>, 'reload'> {
  /** Something changed: asks soon, and once for many changes. */
  touch(): void;
  /** Asks at once what is still to be asked; resolves with its answer, or when that takes too long. */
  readonly settle: () => Promise<void>;
  stop(): void;
}

const PAUSE_MS = 450;
/** Nobody who saves waits longer. */
const LATE_MS = 3_000;

/** Asks the server about what is being written, a moment after the last change; an older answer never replaces a newer one. */
export function createLiveCheck<T>(load: (signal: AbortSignal) => Promise<T>, timers: Timers = browserTimers): LiveCheck<T> {
  const query = createQuery(load);
  let timer: unknown;
  let is_due = false;
  let newest = Promise.resolve();
  const ask = () => {
    is_due = false;
    newest = query.reload();
  };
  return {
    data: query.data,
    problem: query.problem,
    pending: query.pending,
    touch() {
      timers.clear(timer);
      is_due = true;
      timer = timers.set(ask, PAUSE_MS);
    },
    async settle() {
      if (is_due) {
        timers.clear(timer);
        ask();
      }
      const late = Promise.withResolvers<void>();
      const limit = timers.set(late.resolve, LATE_MS);
      await Promise.race([newest, late.promise]);
      timers.clear(limit);
    },
    stop: () => timers.clear(timer),
  };
}

interface Runner<I, O> {
  /** The newest answer; it stays while a newer one is awaited, and goes when one failed. */
  readonly result: () => O | undefined;
  readonly problem: () => Problem | undefined;
  readonly busy: () => boolean;
  run(input: I): Promise<void>;
  /** Gives up what runs; the server cancels it in the database. */
  cancel(): void;
}

/** Something that is run by hand, can be cancelled, and shows its last result; it ends with what made it. @param first a result that is known already. */
export function createRunner<I, O>(call: (input: I, signal: AbortSignal) => Promise<O>, first?: O): Runner<I, O> {
  const [result, setResult] = createSignal<O | undefined>(first);
  const [problem, setProblem] = createSignal<Problem>();
  const [busy, setBusy] = createSignal(false);
  let current: AbortController | undefined;
  const cancel = () => {
    current?.abort();
    current = undefined;
    setBusy(false);
  };
  if (getOwner() !== null) onCleanup(cancel);
  return {
    result,
    problem,
    busy,
    cancel,
    async run(input) {
      current?.abort();
      const mine = new AbortController();
      current = mine;
      setBusy(true);
      try {
        const answer = await call(input, mine.signal);
        if (mine !== current) return;
        setResult(() => answer);
        setProblem(undefined);
      } catch (fault) {
        if (mine !== current) return;
        setResult(undefined);
        setProblem(toProblem(fault));
      } finally {
        if (mine === current) setBusy(false);
      }
    },
  };
}
