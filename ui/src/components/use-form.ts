import { focusInvalid } from './form/focus-invalid.ts';
import { createForm, type Form, type FormOptions, labelsOf } from '#ui/src/kernel/form/form.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { toProblem } from '#ui/src/kernel/problem.ts';
import { lastAuthor, type Recorded } from '#ui/src/kernel/data/last-author.ts';
import { useLeaveGuard } from './form/use-leave-guard.ts';

type Shape = Record<string, unknown>;

interface PageFormOptions<T extends Shape, O> extends FormOptions<T, O> {
  /**
   * What is stored by now, asked when the optimistic lock refused: a choice between both is offered, and what was chosen is sent
   * with `submit` again. It has to see to it that `submit` sends the version that was read here. Undefined: it was deleted.
   */
  readonly latest?: (() => Promise<T | undefined>) | undefined;
  /** Where the history says who saved or deleted it meanwhile. */
  readonly recorded?: () => Recorded;
  /** Said when the page is left with changes. */
  readonly unsaved?: string;
}

const UNSAVED = 'Your changes on this page are not saved.';

/** A form of a page: nothing typed is lost by leaving, the first fault gets the focus, a conflict is a choice. */
export function useForm<T extends Shape, O>(options: PageFormOptions<T, O>): Form<T> {
  const { call, dialogs, session, toasts } = useKernel();
  const form = createForm(options);
  useLeaveGuard(() => (form.dirty() && !form.busy() ? (options.unsaved ?? UNSAVED) : undefined));

  /** What somebody did to the record meanwhile; it may have been this person, in another tab. */
  const said = async (did: 'saved' | 'deleted'): Promise<string> => {
    const last = options.recorded === undefined ? undefined : await lastAuthor(call, options.recorded());
    if (last === session.username()) return `You ${did} this elsewhere in the meantime`;
    return `${last ?? 'Someone else'} ${did} this in the meantime`;
  };
  const deleted = async () => `${await said('deleted')}. What you typed is still here.`;

  /** The stored version was read and nothing chosen yet: sending it would overwrite what nobody decided about. */
  let undecided = false;
  const merge = async (latest: () => Promise<T | undefined>): Promise<boolean> => {
    undecided = true;
    let theirs: T | undefined;
    try {
      theirs = await latest();
    } catch (fault) {
      const problem = toProblem(fault);
      if (problem.code !== 'not_found') {
        toasts.show(problem.detail, 'bad');
        return false;
      }
    }
    if (theirs === undefined) {
      form.refuse({ code: 'not_found', detail: await deleted(), errors: [] });
      return false;
    }
    const mine = structuredClone(form.snapshot());
    const merged = await dialogs.conflict({
      base: form.base(),
      mine,
      theirs,
      title: await said('saved'),
      labels: labelsOf(options.schema),
    });
    if (merged === undefined) return false;
    undecided = false;
    form.reset(theirs);
    if (merged.kind === 'theirs') return false;
    form.change((draft) => void Object.assign(draft, merged.values));
    return form.submit();
  };

  const submit = async (event?: Event): Promise<boolean> => {
    event?.preventDefault();
    if (undecided && options.latest !== undefined) return merge(options.latest);
    const element = event?.currentTarget instanceof HTMLElement ? event.currentTarget : undefined;
    if (await form.submit(event)) return true;
    const problem = form.problem();
    if (options.latest !== undefined) {
      if (problem?.code === 'conflict' && form.errors().size === 0) return merge(options.latest);
      if (problem?.code === 'not_found') form.refuse({ ...problem, detail: await deleted() });
    }
    void focusInvalid(element);
    return false;
  };

  return { ...form, submit };
}

type Identified = { readonly id: string } | undefined;

interface RecordFormOptions<R extends Identified, T extends Shape> extends Omit<
  PageFormOptions<T, NonNullable<R>>,
  'initial' | 'submit' | 'latest' | 'recorded'
> {
  /** What the form begins with; undefined: it is new. */
  readonly record: () => R;
  /** What the history calls it. */
  readonly kind: Recorded['type'];
  readonly toValues: (record: R) => T;
  /** As it is stored by now; undefined: it was deleted. */
  readonly read: (record: NonNullable<R>) => Promise<NonNullable<R> | undefined>;
  /** @param stored as it was read last, with the version that the change is made on. */
  readonly save: (values: T, stored: R) => Promise<NonNullable<R>>;
}

export interface RecordForm<R, T extends Shape> extends Form<T> {
  /** As it was read last. */
  readonly record: () => R;
}

/** A form of one record, the same one for as long as the form is there. After a save it goes on with what is stored. */
export function useRecordForm<R extends Identified, T extends Shape>({
  record,
  kind,
  toValues,
  read,
  save,
  onDone,
  ...options
}: RecordFormOptions<R, T>): RecordForm<R, T> {
  let stored = record();
  const form: Form<T> = useForm<T, NonNullable<R>>({
    ...options,
    recorded: () => ({ type: kind, id: stored?.id ?? '' }),
    initial: () => toValues(stored),
    get latest() {
      const known = stored;
      if (known === undefined) return undefined;
      return async () => {
        const found = await read(known);
        if (found !== undefined) stored = found;
        return found && toValues(found);
      };
    },
    submit: (values) => save(values, stored),
    onDone(answer) {
      stored = answer;
      form.stored(toValues(answer));
      onDone?.(answer);
    },
  });
  return { ...form, record: () => stored };
}
