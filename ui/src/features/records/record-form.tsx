import { For, type JSX } from 'solid-js';
import type { Call } from '#ui/src/api.ts';
import { FormFoot } from '#ui/src/components/form/form-foot.tsx';
import { useRecordForm } from '#ui/src/components/use-form.ts';
import { FormField } from '#ui/src/fields/form-field.tsx';
import { again } from '#ui/src/kernel/data/all-of.ts';
import type { Read } from '#ui/src/kernel/data/cache.ts';
import type { Recorded } from '#ui/src/kernel/data/last-author.ts';
import type { Form, FormSchema } from '#ui/src/kernel/form/form.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';

export interface StoredRecord {
  readonly id: string;
  readonly enabled?: boolean;
  readonly revoked?: boolean;
}

type Values = Record<string, unknown>;

/** How records of one kind are listed, and deleted or revoked. */
export interface RecordList<R extends StoredRecord> {
  /** Entity type in the history. */
  readonly type: Recorded['type'];
  /** What buttons call it, such as `webhook`. */
  readonly noun: string;
  readonly nameOf: (record: R) => string;
  list(read: Read, skip: number, limit: number): Promise<{ readonly items: readonly R[]; readonly total: number }>;
  remove(call: Call, record: R): Promise<unknown>;
  readonly removal: {
    readonly verb: 'Delete' | 'Revoke';
    /** The consequences. */
    readonly text: (record: R) => string;
    /** The history can restore it. */
    readonly undo?: true;
  };
}

/** How records of one kind are created and changed. @template M a created record, with its secret. */
export interface RecordKind<R extends StoredRecord, V extends Values, M extends R = R> extends RecordList<R> {
  /** Verb of the button that creates one. */
  readonly verb?: 'Add';
  /** The input of a creation. All fields of a change are sent, so they are checked like those of a new record. */
  readonly schema: FormSchema;
  readonly blank: V;
  /** Needed with `update`. */
  readonly toValues?: (record: R) => V;
  /** The fields of the form. Default: those of `blank`. */
  readonly fields?: (record: R | undefined) => readonly string[];
  /** Draws fields whose control the contract does not know. */
  readonly draw?: Readonly<Partial<Record<string, (form: Form<V>, record: R | undefined) => JSX.Element>>>;
  create(call: Call, values: V): Promise<M>;
  update?(call: Call, values: V, stored: R): Promise<R>;
  /** Given: a row can be disabled and enabled. */
  enable?(call: Call, enabled: boolean, stored: R): Promise<unknown>;
}

/** The form of a record: a new one, or what is changed of a stored one. */
export function RecordForm<R extends StoredRecord, V extends Values, M extends R>(props: {
  of: RecordKind<R, V, M>;
  record?: R;
  onCreated?: (created: M) => void;
  onSaved?: (record: R) => void;
  onCancel: () => void;
}) {
  const { call } = useKernel();
  // A mounted form keeps its record.
  // oxlint-disable-next-line solid/reactivity
  const { of, record } = props;
  let created: M | undefined;
  const form = useRecordForm<R | undefined, V>({
    record: () => record,
    kind: of.type,
    schema: of.schema,
    toValues: (stored) => (stored && of.toValues?.(stored)) ?? of.blank,
    unsaved: `The changes to this ${of.noun} are not saved.`,
    async read(stored) {
      const found = await again<R>(stored, (skip, limit) => of.list(call, skip, limit));
      return found?.revoked === true ? undefined : found;
    },
    async save(values, stored) {
      if (stored !== undefined && of.update !== undefined) return of.update(call, values, stored);
      created = await of.create(call, values);
      return created;
    },
    onDone(stored) {
      if (created === undefined) props.onSaved?.(stored);
      else props.onCreated?.(created);
    },
  });
  return (
    <form class="stack" novalidate onSubmit={(event) => void form.submit(event)}>
      <For each={of.fields?.(record) ?? Object.keys(of.blank)}>
        {(name) => of.draw?.[name]?.(form, record) ?? <FormField form={form} name={name} />}
      </For>
      <FormFoot
        form={form}
        submit={record === undefined ? `${of.verb ?? 'Create'} ${of.noun}` : `Save ${of.noun}`}
        always={record === undefined}
        onCancel={() => props.onCancel()}
      />
    </form>
  );
}
