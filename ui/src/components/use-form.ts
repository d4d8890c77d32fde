import { focusInvalid } from './form/focus-invalid.ts';
import { createForm, type Form, type FormOptions, labelsOf } from '#ui/src/kernel/form/form.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { toProblem } from '#ui/src/kernel/problem.ts';
import { lastAuthor, type Recorded } from '#ui/src/kernel/data/last-author.ts';
import { useLeaveGuard } from './form/use-leave-guard.ts';

type Shape = Record<string, unknown>;

interface PageFormOptions<T extends Shape, O> extends FormOptions<T, O> {
  /**
   * Reads the stored values after a version conflict; the person chooses between both versions, and the result goes through `submit`
   * again. `submit` has to send the version that was read here. Undefined: the record was deleted.
   */
  readonly latest?: (() => Promise<T | undefined>) | undefined;
  /** The record in the history, to name the person who saved or deleted it. */
  readonly recorded?: () => Recorded;
  /** The question when the page is left with unsaved changes. */
  readonly unsaved?: string;
}

const UNSAVED = 'Your changes on this page are not saved.';

/** A form of a page: leaving asks about unsaved changes, the first error gets the focus, a conflict offers a choice. */
export function useForm<T extends Shape, O>(options: PageFormOptions<T, O>): Form<T> {
  const { call, dialogs, session, toasts } = useKernel();
  const form = createForm(options);
  useLeaveGuard(() => (form.dirty() && !form.busy() ? (options.unsaved ?? UNSAVED) : undefined));

  /** Describes the concurrent change; it may come from this person in another tab. */
  const said = async (did: 'saved' | 'deleted'): Promise<string> => {
    const last = options.recorded === undefined ? undefined : await lastAuthor(call, options.recorded());
    if (last === session.username()) return `You ${did} this elsewhere in the meantime`;
    return `${last ?? 'Someone else'} ${did} this in the meantime`;
  };
  const deleted = async () => `${await said('deleted')}. What you typed is still here.`;

  /** The stored version was read and the conflict is not resolved yet: submitting would overwrite it unseen. */
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
  /** The stored record; undefined: it is new. */
  readonly record: () => R;
  /** Entity type in the history. */
  readonly kind: Recorded['type'];
  readonly toValues: (record: R) => T;
  /** Reads the stored record again; undefined: it was deleted. */
  readonly read: (record: NonNullable<R>) => Promise<NonNullable<R> | undefined>;
  /** @param stored the record as last read, with the version that the change is based on. */
  readonly save: (values: T, stored: R) => Promise<NonNullable<R>>;
}

export interface RecordForm<R, T extends Shape> extends Form<T> {
  /** The record as last read. */
  readonly record: () => R;
}

/** A form of one record for as long as the component is mounted. After a save it continues with the stored values. */
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
