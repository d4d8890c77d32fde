import type { ConfirmRequest } from '#ui/src/kernel/dialogs.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { toProblem } from '#ui/src/kernel/problem.ts';

/** An answer that is not a success. */
interface Bad {
  readonly bad: string;
}
type SuccessText<T> = string | ((answer: T) => string | Bad);

/**
 * Runs the action of a button outside of a form: reports a slow action and its result. A change reloads the queries that it affects; a
 * failure reloads all of them.
 */
export function useAct() {
  const { cache, dialogs, toasts } = useKernel();
  /** Undefined when it was refused. */
  const act = async <T>(work: () => Promise<T>, said?: SuccessText<T>): Promise<T | undefined> => {
    try {
      const answer = await toasts.during(work());
      const words = typeof said === 'function' ? said(answer) : said;
      if (typeof words === 'string') toasts.show(words, 'good');
      else if (words !== undefined) toasts.show(words.bad, 'bad');
      return answer;
    } catch (fault) {
      toasts.show(toProblem(fault).detail, 'bad');
      cache.invalidate();
      return undefined;
    }
  };
  /** Confirms first, since the action is destructive. Undefined also when the person cancels. */
  const ask = async <T>(question: ConfirmRequest, work: () => Promise<T>, said?: SuccessText<T>): Promise<T | undefined> =>
    (await dialogs.confirm({ danger: true, ...question })) ? act(work, said) : undefined;
  return { act, ask };
}

/** Reports that a change is saved, with a link to Deploy. */
export function useSaved(): (text: string) => void {
  const { router, toasts } = useKernel();
  return (text) => toasts.show(text, 'good', { action: { label: 'Deploy', run: () => router.navigate('/deploy') } });
}
