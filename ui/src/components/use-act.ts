import type { ConfirmRequest } from '#ui/src/kernel/dialogs.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { toProblem } from '#ui/src/kernel/problem.ts';

/** What came of something that was answered, and is not what was wanted. */
interface Bad {
  readonly bad: string;
}
type Said<T> = string | ((answer: T) => string | Bad);

/** What a button does outside of a form: says that it works when it takes long, and what came of it. A change reads again what it made untrue; a refusal, everything in sight. */
export function useAct() {
  const { cache, dialogs, toasts } = useKernel();
  /** Undefined when it was refused. */
  const act = async <T>(work: () => Promise<T>, said?: Said<T>): Promise<T | undefined> => {
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
  /** Asks first: something is lost by it. Undefined when the person thought better of it, too. */
  const ask = async <T>(question: ConfirmRequest, work: () => Promise<T>, said?: Said<T>): Promise<T | undefined> =>
    (await dialogs.confirm({ danger: true, ...question })) ? act(work, said) : undefined;
  return { act, ask };
}

/** Says that something is stored, next to the way to deploy it. */
export function useSaved(): (text: string) => void {
  const { router, toasts } = useKernel();
  return (text) => toasts.show(text, 'good', { action: { label: 'Deploy', run: () => router.navigate('/deploy') } });
}
