import { createSignal } from 'solid-js';
import { type Problem, toProblem } from '#ui/src/kernel/problem.ts';

interface Mutation<I, O> {
  /** Undefined when it failed (see `problem`) or when one is under way. */
  run(input: I): Promise<O | undefined>;
  readonly busy: () => boolean;
  readonly problem: () => Problem | undefined;
  reset(): void;
}

/** One change at a time, with its state. */
export function createMutation<I, O>(call: (input: I) => Promise<O>): Mutation<I, O> {
  const [busy, setBusy] = createSignal(false);
  const [problem, setProblem] = createSignal<Problem>();
  return {
    busy,
    problem,
    reset() {
      setProblem(undefined);
    },
    async run(input) {
      if (busy()) return undefined;
      setBusy(true);
      setProblem(undefined);
      try {
        return await call(input);
      } catch (fault) {
        setProblem(toProblem(fault));
        return undefined;
      } finally {
        setBusy(false);
      }
    },
  };
}
