import { createMemo, createSignal } from 'solid-js';
import type { Connection } from '#core/contract/definitions/connections.ts';
import type { OperationName } from '#core/contract/index.ts';
import { focusInvalid } from '#ui/src/components/form/focus-invalid.ts';
import { type RecordForm, useRecordForm } from '#ui/src/components/use-form.ts';
import type { Form, FormOptions, Path } from '#ui/src/kernel/form/form.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { type EntityNoun, ENTITY_TYPE } from './definitions/bulk.ts';
import { type Checked, type DraftCheck, useDraftCheck } from './draft-check.ts';
import { changedFields } from './drafts.ts';
import { keepDraft } from './keep-draft.ts';

export const SIDES = ['preview', 'schema', 'plan', 'model', 'script', 'tests'] as const;
export type Side = (typeof SIDES)[number];

interface Stored {
  readonly id: string;
  readonly name: string;
  readonly version: number;
}

/** What the page of a definition gives its builder. */
export interface DefinitionProps<D, E> {
  readonly connections: readonly Connection[];
  /** Every tag in use. */
  readonly tags: readonly string[];
  readonly initial: D;
  /** The stored record; absent while it is new. */
  readonly entity?: E | undefined;
  readonly onSaved: (entity: E) => void;
}

export interface DefinitionOptions<D extends Record<string, unknown>, E extends Stored, I extends object, C extends Checked> {
  readonly noun: EntityNoun;
  readonly schema: FormOptions<D, E>['schema'];
  readonly props: DefinitionProps<D, E>;
  readonly toDraft: (entity: E) => D;
  /** Errors that the schema cannot find. */
  readonly invalid?: NonNullable<FormOptions<D, E>['check']>;
  /** The values as they are sent. */
  readonly clean?: (values: D) => D;
  readonly create: (values: D) => Promise<E>;
  readonly update: (change: Partial<D> & Pick<Stored, 'id' | 'version'>) => Promise<E>;
  readonly read: (id: string) => Promise<E>;
  /** Fields that the script shows while nothing is changed. */
  readonly example: readonly (keyof D & string)[];
  /** Input of the server's check; undefined: the draft is not ready for it. */
  readonly input: (values: D) => I | undefined;
  readonly check: (input: I, signal: AbortSignal) => Promise<C>;
}

/** A request that saves a draft. */
export interface SaveRequest {
  readonly name: OperationName;
  readonly body: Readonly<Record<string, unknown>>;
}

/** `changed` names the fields of one kind of definition; panels are for several kinds. */
export type DraftForm<D extends Record<string, unknown>> = Omit<Form<D>, 'changed'>;

/** A tool, resource or prompt that is being edited: the parts of its page read everything from here. */
export interface DefinitionDraft<D extends Record<string, unknown> = Record<string, unknown>, C extends Checked = Checked> {
  readonly kind: (typeof ENTITY_TYPE)[EntityNoun];
  readonly form: DraftForm<D>;
  /** The stored record; undefined while it is new. */
  readonly stored: () => Stored | undefined;
  readonly connections: () => readonly Connection[];
  readonly tags: () => readonly string[];
  readonly check: DraftCheck<C>;
  /** The error of a field, from the form or the server's check. */
  error(path: Path<D>): string | undefined;
  /** Sets several fields, such as those of a fix. */
  change(changes: Readonly<Record<string, unknown>>): void;
  readonly request: () => SaveRequest;
  readonly side: () => Side;
  readonly setSide: (side: Side) => void;
  /** Counts the requests to bring the side into view. */
  readonly reveal: () => number;
  /** Shows the preview, and runs it where there is something to run. */
  run(): void;
}

export function useDefinitionDraft<D extends Record<string, unknown>, E extends Stored, I extends object, C extends Checked>(
  options: DefinitionOptions<D, E, I, C>,
): DefinitionDraft<D, C> {
  const { noun, props } = options;
  const { router, session } = useKernel();
  // A link may lead to one side.
  const linked = router.query().get('side');
  const [side, setSide] = createSignal<Side>(SIDES.find((one) => one === linked) ?? 'preview');
  const [reveal, setReveal] = createSignal(0);
  const clean = options.clean ?? ((values: D) => values);
  const form: RecordForm<E | undefined, D> = useRecordForm({
    record: () => props.entity,
    kind: ENTITY_TYPE[noun],
    schema: options.schema,
    toValues: (entity) => (entity === undefined ? props.initial : options.toDraft(entity)),
    check: options.invalid ?? (() => ({})),
    unsaved: `Changes to this ${ENTITY_TYPE[noun]} are not saved.`,
    read: ({ id }) => options.read(id),
    save(values, stored) {
      const sent = clean(values);
      if (stored === undefined) return options.create(sent);
      return options.update({ ...changedFields(sent, form.changed()), id: stored.id, version: stored.version });
    },
    onDone: (entity) => props.onSaved(entity),
  });
  keepDraft(form, () => form.record()?.version ?? null);
  const input = (values: D) => {
    const sent = options.input(clean(values));
    return sent && { ...(props.entity && { id: props.entity.id }), ...sent };
  };
  const check = useDraftCheck<C>({
    watch: () => input({ ...form.values }),
    async load(signal) {
      const sent = input(form.snapshot());
      return sent === undefined ? undefined : options.check(sent, signal);
    },
    schema: options.schema,
    sql: () => (typeof form.values['sql_query'] === 'string' ? form.values['sql_query'] : ''),
  });
  /** A check in progress may suggest parameters, which are saved too. */
  const submit = async (event?: Event): Promise<boolean> => {
    event?.preventDefault();
    const element = event?.currentTarget instanceof HTMLElement ? event.currentTarget : undefined;
    await check.settle();
    // The session ended during the check: after signing in, the person saves again.
    if (session.state() !== 'signed_in') return false;
    const is_saved = await form.submit();
    if (!is_saved) void focusInvalid(element);
    return is_saved;
  };

  const request = createMemo((): SaveRequest => {
    const values = clean({ ...form.values });
    const stored = props.entity;
    if (stored === undefined) return { name: `${noun}.create`, body: values };
    const changed = form.changed();
    const fields = changedFields(values, changed.length > 0 ? changed : options.example);
    return { name: `${noun}.update`, body: { id: stored.id, version: stored.version, ...fields } };
  });

  return {
    kind: ENTITY_TYPE[noun],
    form: { ...form, submit },
    stored: () => props.entity,
    connections: () => props.connections,
    tags: () => props.tags,
    check,
    error: (path) => form.error(path) ?? check.error(path),
    change(changes) {
      for (const [name, value] of Object.entries(changes)) form.set(name, value);
    },
    request,
    side,
    setSide,
    reveal,
    run() {
      setSide('preview');
      setReveal(reveal() + 1);
    },
  };
}
