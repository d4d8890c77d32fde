import { createSignal, getOwner, onCleanup } from 'solid-js';
import { type Problem, toProblem } from '#ui/src/kernel/problem.ts';
import { browserTimers, createQuery, type Query, type Timers } from '#ui/src/kernel/data/query.ts';

interface LiveCheck<T> extends Omit<Query<T>, 'reload'> {
  /** Schedules a check; several calls in a row cause one check. */
  touch(): void;
  /** Runs a scheduled check at once; resolves with its answer or after a timeout. */
  readonly settle: () => Promise<void>;
  stop(): void;
}

const PAUSE_MS = 450;
/** Maximum time that a save waits for the check. */
const LATE_MS = 3_000;

/** Checks a draft on the server shortly after the last change; an older answer never replaces a newer one. */
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
  /** The newest result; it stays during the next run and is cleared by a failed one. */
  readonly result: () => O | undefined;
  readonly problem: () => Problem | undefined;
  readonly busy: () => boolean;
  run(input: I): Promise<void>;
  /** Aborts the run; the server cancels it in the database. */
  cancel(): void;
}

/**
 * Runs started by hand: cancellable, with the last result, aborted when the component unmounts.
 * @param first an earlier result.
 */
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
