import type { ConfirmRequest } from '#ui/src/kernel/dialogs.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { toProblem } from '#ui/src/kernel/problem.ts';

type Said<T> = string | ((answer: T) => string);

/** What a button does outside of a form: says what came of it. A change reads again what it made untrue; a refusal, everything in sight. */
export function useAct() {
  const { cache, dialogs, toasts } = useKernel();
  /** Undefined when it was refused. */
  const act = async <T>(work: () => Promise<T>, said?: Said<T>): Promise<T | undefined> => {
    try {
      const answer = await work();
      if (said !== undefined) toasts.show(typeof said === 'string' ? said : said(answer), 'good');
      return answer;
    } catch (fault) {
      toasts.show(toProblem(fault).detail, 'bad');
      cache.invalidate();
      return undefined;
    }
  };
  /** Asks first: something is lost by it. Undefined when the person thought better of it, too. */
  const ask = async <T>(question: ConfirmRequest, work: () => Promise<T>, said?: Said<T>): Promise<T | undefined> =>
    (await dialogs.confirm({ danger: true, ...question })) ? act(work, said) : undefined;
  return { act, ask };
}
