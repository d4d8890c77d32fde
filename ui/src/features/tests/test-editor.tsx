import { For, Show } from 'solid-js';
import * as v from 'valibot';
import type { Test, TestDraft } from '#core/contract/definitions/tests.ts';
import { field as marked } from '#core/contract/marks.ts';
import { Button } from '#ui/src/components/button.tsx';
import { Drawer } from '#ui/src/components/dialog.tsx';
import { Switch } from '#ui/src/components/form/choice.tsx';
import { TextArea, TextField } from '#ui/src/components/form/field.tsx';
import { FormFoot } from '#ui/src/components/form/form-foot.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { useRecordForm } from '#ui/src/components/use-form.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import type { NewTest } from './expectation.ts';
import { fromForm, type TestForm, toForm } from './test-draft.ts';

type TextName = { [K in keyof TestForm]: TestForm[K] extends string ? K : never }[keyof TestForm];
interface Field {
  readonly name: TextName;
  readonly label: string;
  /** When the option is offered: for a failed call, for any result, for one with rows. */
  readonly of: 'any' | 'error' | 'result' | 'rows';
  /** Lines of JSON. */
  readonly rows?: number;
  readonly hint?: string;
}
const FIELDS: readonly Field[] = [
  { name: 'error', label: 'Error contains', of: 'error' },
  {
    name: 'equals',
    label: 'Result equals',
    of: 'result',
    rows: 6,
    hint: 'The rows, or the whole result as a client gets it, as JSON.',
  },
  {
    name: 'contains',
    label: 'Contains rows',
    of: 'rows',
    rows: 3,
    hint: 'A list of objects such as [{"id": 7}], one for each row.',
  },
  { name: 'columns', label: 'Columns', of: 'rows', hint: 'Column names, separated by commas.' },
  { name: 'absent_columns', label: 'Absent columns', of: 'rows' },
  { name: 'min', label: 'Minimum rows', of: 'rows' },
  { name: 'max', label: 'Maximum rows', of: 'rows' },
  { name: 'max_ms', label: 'Maximum duration (ms)', of: 'any' },
  { name: 'max_tokens', label: 'Maximum tokens', of: 'result' },
  { name: 'max_bytes', label: 'Maximum size (bytes)', of: 'result' },
];

/** A string or a boolean per field: `fromForm` validates them. */
const Fields = v.looseObject(
  Object.fromEntries(
    [
      { name: 'name', label: 'Name' },
      { name: 'arguments', label: 'Arguments' },
      { name: 'fails', label: 'The call must fail' },
      { name: 'enabled', label: 'Enabled' },
      ...FIELDS,
    ].map(({ name, label }) => [name, marked(v.union([v.string(), v.boolean()]), { label })]),
  ),
);

/** Creates a test, or changes a stored one. */
export function TestEditor(props: { test: Test | NewTest | undefined; onClose: () => void; onSaved?: () => void }) {
  return (
    <Show when={props.test} keyed>
      {(test) => <Editor test={test} onClose={props.onClose} onSaved={props.onSaved} />}
    </Show>
  );
}

function Editor(props: { test: Test | NewTest; onClose: () => void; onSaved: (() => void) | undefined }) {
  const { call, toasts } = useKernel();
  // Each test creates a new editor.
  // oxlint-disable-next-line solid/reactivity
  const { test } = props;
  const before = 'id' in test ? test : undefined;
  const whole = 'whole' in test ? test.whole : undefined;
  const form = useRecordForm<Test | undefined, TestForm>({
    record: () => before,
    kind: 'test',
    schema: Fields,
    check: (values) => {
      const read = fromForm(values);
      return 'errors' in read ? read.errors : {};
    },
    toValues: (stored) => toForm((stored ?? test) as Partial<TestDraft>),
    unsaved: 'The changes to this test are not saved.',
    read: ({ id }) => call('tests.get', { id }),
    save: (values, stored) => {
      const read = fromForm(values);
      const draft = 'draft' in read ? read.draft : { name: values.name };
      return stored === undefined
        ? call('tests.create', { owner: test.owner, caller: test.caller ?? null, ...draft })
        : call('tests.update', { id: stored.id, version: stored.version, ...draft });
    },
    onDone: () => {
      toasts.show(
        before === undefined ? 'Test created. Every deploy that changes the definition runs it.' : 'Test saved.',
        'good',
      );
      props.onSaved?.();
      props.onClose();
    },
  });
  const isShown = (of: Field['of']): boolean =>
    of === 'any' || (form.values.fails ? of === 'error' : of === 'result' || (of === 'rows' && test.owner.kind !== 'prompt'));

  return (
    <Drawer open title={before === undefined ? 'New test' : 'Edit test'} onClose={props.onClose}>
      <form class="stack" novalidate onSubmit={(event) => void form.submit(event)}>
        <TextField label="Name" required {...form.text('name')} autofocus />
        <TextArea label="Arguments" mono rows={4} {...form.text('arguments')} hint="What the caller sends, as JSON." />
        <Show when={'arguments_unknown' in test && test.arguments_unknown}>
          <Notice tone="plain">The arguments of this call are unknown. Enter the arguments that the test sends.</Notice>
        </Show>
        <Show when={test.caller}>
          <Notice tone="plain">The test runs as the chosen caller, with their values, masks and session values.</Notice>
        </Show>
        <Switch label="The call must fail" {...form.flag('fails')} />
        <For each={FIELDS.filter(({ of }) => isShown(of))}>
          {(field) => {
            const shared = { ...field, optional: true, mono: true };
            return (
              <div class="stack" data-gap="1">
                <Show when={field.rows} fallback={<TextField {...shared} {...form.text(field.name)} />}>
                  <TextArea {...shared} {...form.text(field.name)} />
                </Show>
                <Show when={field.name === 'equals' && whole !== undefined && form.values.equals === ''}>
                  <div class="row">
                    <Button size="small" kind="quiet" onPress={() => form.set('equals', JSON.stringify(whole, null, 2))}>
                      Compare with the whole result
                    </Button>
                  </div>
                </Show>
              </div>
            );
          }}
        </For>
        <Switch label="Enabled" {...form.flag('enabled')} />
        <FormFoot form={form} submit={before === undefined ? 'Create test' : 'Save test'} always onCancel={props.onClose} />
      </form>
    </Drawer>
  );
}
