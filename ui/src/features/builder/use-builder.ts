import { createMemo, createSignal } from 'solid-js';
import type { Connection } from '#core/contract/definitions/connections.ts';
import type { OperationName } from '#core/contract/index.ts';
import { ENTITY_TYPE, type EntityNoun } from './definitions/bulk.ts';
import { changedFields } from './drafts.ts';
import { keepDraft } from './keep-draft.ts';
import type { FormOptions } from '#ui/src/kernel/form/form.ts';
import { type RecordForm, useRecordForm } from '#ui/src/components/use-form.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { type Side, SIDES } from './builder-frame.tsx';

interface Stored {
  readonly id: string;
  readonly version: number;
}

export interface BuilderProps<D, E> {
  readonly connections: readonly Connection[];
  /** Every tag that is in use. */
  readonly tags: readonly string[];
  readonly initial: D;
  /** The stored record; absent while it is new. */
  readonly entity?: E | undefined;
  readonly onSaved: (entity: E) => void;
}

interface BuilderOptions<D extends Record<string, unknown>, E extends Stored> {
  readonly noun: EntityNoun;
  readonly schema: FormOptions<D, E>['schema'];
  readonly props: BuilderProps<D, E>;
  readonly draftOf: (entity: E) => D;
  /** What the schema cannot say of what was written. */
  readonly check?: NonNullable<FormOptions<D, E>['check']>;
  /** What is sent of what was written. */
  readonly clean?: (draft: D) => D;
  readonly create: (draft: D) => Promise<E>;
  readonly update: (change: Partial<D> & Stored) => Promise<E>;
  readonly read: (id: string) => Promise<E>;
  /** Fields that the script shows while nothing was changed. */
  readonly example: readonly (keyof D & string)[];
}

export interface BuilderRequest {
  readonly name: OperationName;
  readonly body: Readonly<Record<string, unknown>>;
}

/** What every builder does: a form that creates or changes one record, a side that shows what it does, and the same as a script. */
export function useBuilder<D extends Record<string, unknown>, E extends Stored>(options: BuilderOptions<D, E>) {
  // A link may lead to one side.
  const wanted = useKernel().router.query().get('side');
  const [side, setSide] = createSignal<Side>(SIDES.find((one) => one === wanted) ?? 'preview');
  const [reveal, setReveal] = createSignal(0);
  const clean = options.clean ?? ((draft: D) => draft);
  const form: RecordForm<E | undefined, D> = useRecordForm({
    record: () => options.props.entity,
    kind: ENTITY_TYPE[options.noun],
    schema: options.schema,
    toValues: (entity) => (entity === undefined ? options.props.initial : options.draftOf(entity)),
    check: options.check ?? (() => ({})),
    unsaved: `Changes to this ${ENTITY_TYPE[options.noun]} are not saved.`,
    read: ({ id }) => options.read(id),
    save(values, stored) {
      const draft = clean(values);
      if (stored === undefined) return options.create(draft);
      return options.update({ ...changedFields(draft, form.changed()), id: stored.id, version: stored.version });
    },
    onDone: (entity) => options.props.onSaved(entity),
  });
  keepDraft(form, () => form.record()?.version ?? null);
  /** What saving asks of the server. */
  const request = createMemo((): BuilderRequest => {
    const values = clean({ ...form.values });
    const known = options.props.entity;
    if (known === undefined) return { name: `${options.noun}.create`, body: values };
    const changed = form.changed();
    const fields = changedFields(values, changed.length > 0 ? changed : options.example);
    return { name: `${options.noun}.update`, body: { id: known.id, version: known.version, ...fields } };
  });

  return {
    form,
    side,
    setSide,
    reveal,
    /** Brings the preview into sight. */
    preview() {
      setSide('preview');
      setReveal(reveal() + 1);
    },
    /** Sets several fields. */
    change(changes: Readonly<Record<string, unknown>>) {
      for (const [name, value] of Object.entries(changes)) form.set(name, value);
    },
    save: () => void form.submit(),
    request,
  };
}

export type Builder<D extends Record<string, unknown>> = ReturnType<typeof useBuilder<D, Stored>>;
