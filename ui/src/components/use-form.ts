import { focusInvalid } from './form/focus-invalid.ts';
import type * as v from 'valibot';
import { labelsIn } from '#core/contract/marks.ts';
import { createForm, type Form, type FormOptions } from '#ui/src/kernel/form/form.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { toProblem } from '#ui/src/kernel/problem.ts';
import { useLeaveGuard } from './form/use-leave-guard.ts';

type Shape = Record<string, unknown>;

interface PageFormOptions<T extends Shape, O> extends FormOptions<T, O> {
  /**
   * What is stored by now, asked when the optimistic lock refused: a choice between both is offered, and what was chosen is sent
   * with `submit` again. It has to see to it that `submit` sends the version that was read here. Undefined: it was deleted.
   */
  readonly latest?: () => Promise<T | undefined>;
  /** Said when the page is left with changes. */
  readonly unsaved?: string;
}

const DELETED = 'Someone else deleted this in the meantime.';
const UNSAVED = 'Your changes on this page are not saved.';

/** A form of a page: nothing typed is lost by leaving, the first fault gets the focus, a conflict is a choice. */
export function useForm<T extends Shape, O>(options: PageFormOptions<T, O>): Form<T> {
  const { dialogs, toasts } = useKernel();
  const form = createForm(options);
  useLeaveGuard(() => (form.dirty() && !form.busy() ? (options.unsaved ?? UNSAVED) : undefined));

  const merge = async (latest: () => Promise<T | undefined>): Promise<boolean> => {
    let theirs: T | undefined;
    try {
      theirs = await latest();
    } catch (fault) {
      toasts.show(toProblem(fault).detail, 'bad');
      return false;
    }
    if (theirs === undefined) {
      toasts.show(DELETED, 'bad');
      return false;
    }
    const mine = structuredClone(form.snapshot());
    const labels = 'entries' in options.schema ? labelsIn(options.schema.entries as v.ObjectEntries) : {};
    const merged = await dialogs.conflict({ base: form.base(), mine, theirs, labels });
    if (merged === undefined) return false;
    form.reset(theirs);
    if (merged.kind === 'theirs') return false;
    form.change((draft) => void Object.assign(draft, merged.values));
    return form.submit();
  };

  const submit = async (event?: Event): Promise<boolean> => {
    const element = event?.currentTarget instanceof HTMLElement ? event.currentTarget : undefined;
    const done = await form.submit(event);
    const problem = form.problem();
    if (!done && problem?.code === 'conflict' && form.errors().size === 0 && options.latest !== undefined)
      return merge(options.latest);
    if (!done) void focusInvalid(element);
    return done;
  };

  return { ...form, submit };
}
