import { createSignal, For, Show } from 'solid-js';
import type { Test, TestDraft } from '#core/contract/definitions/tests.ts';
import { Button } from '#ui/src/components/button.tsx';
import { Drawer } from '#ui/src/components/dialog.tsx';
import { Switch } from '#ui/src/components/form/choice.tsx';
import { TextArea, TextField } from '#ui/src/components/form/field.tsx';
import { Notice, ProblemNotice } from '#ui/src/components/notice.tsx';
import { createMutation } from '#ui/src/kernel/data/mutation.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import type { NewTest } from './kept.ts';
import { type FormErrors, fromForm, type TestForm, toForm } from './test-draft.ts';
import { WORDS } from './words.ts';

type TextName = { [K in keyof TestForm]: TestForm[K] extends string ? K : never }[keyof TestForm];
interface Field {
  readonly name: TextName;
  readonly label: string;
  /** Where it makes sense: of a failed call, of any result, of one with rows. */
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
    label: 'Some row has',
    of: 'rows',
    rows: 3,
    hint: 'A list of objects such as [{"id": 7}], one for each row.',
  },
  { name: 'columns', label: 'Columns', of: 'rows', hint: 'Names, with commas.' },
  { name: 'absent_columns', label: 'Absent columns', of: 'rows' },
  { name: 'min', label: 'Minimum rows', of: 'rows' },
  { name: 'max', label: 'Maximum rows', of: 'rows' },
  { name: 'max_ms', label: 'Maximum duration (ms)', of: 'any' },
  { name: 'max_tokens', label: 'Maximum tokens', of: 'result' },
  { name: 'max_bytes', label: 'Maximum size (bytes)', of: 'result' },
];

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
  // The editor is made anew for each test.
  // oxlint-disable-next-line solid/reactivity
  const { test } = props;
  const stored = 'id' in test ? test : undefined;
  const [form, setForm] = createSignal<TestForm>(toForm(test as Partial<TestDraft>));
  const [errors, setErrors] = createSignal<FormErrors>({});
  const set =
    <K extends keyof TestForm>(name: K) =>
    (value: TestForm[K]) =>
      setForm((before) => ({ ...before, [name]: value }));
  const save = createMutation(async (draft: Extract<ReturnType<typeof fromForm>, { draft: unknown }>['draft']) =>
    stored === undefined
      ? call('tests.create', { owner: test.owner, caller: test.caller ?? null, ...draft })
      : call('tests.update', { id: stored.id, version: stored.version, ...draft }),
  );
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const read = fromForm(form());
    setErrors('errors' in read ? read.errors : {});
    if ('errors' in read || (await save.run(read.draft)) === undefined) return;
    toasts.show(stored === undefined ? WORDS.kept : WORDS.saved, 'good');
    props.onSaved?.();
    props.onClose();
  };
  const isShown = (of: Field['of']): boolean =>
    of === 'any' || (form().fails ? of === 'error' : of === 'result' || (of === 'rows' && test.owner.kind !== 'prompt'));

  return (
    <Drawer open title={stored === undefined ? WORDS.new : WORDS.edit} onClose={props.onClose}>
      <form class="stack" novalidate onSubmit={(event) => void submit(event)}>
        <Show when={save.problem()}>{(problem) => <ProblemNotice problem={problem()} />}</Show>
        <TextField label="Name" required value={form().name} onInput={set('name')} error={errors().name} autofocus />
        <TextArea
          label="Arguments"
          mono
          rows={4}
          value={form().arguments}
          onInput={set('arguments')}
          error={errors().arguments}
          hint="What the caller sends, as JSON."
        />
        <Show when={'arguments_unknown' in test && test.arguments_unknown}>
          <Notice tone="plain">{WORDS.arguments_unknown}</Notice>
        </Show>
        <Show when={test.caller}>
          <Notice tone="plain">It runs as the chosen caller, with their values, masks and session values.</Notice>
        </Show>
        <Switch label="The call must fail" checked={form().fails} onChange={set('fails')} />
        <For each={FIELDS.filter(({ of }) => isShown(of))}>
          {(field) => {
            const shared = { ...field, optional: true, mono: true };
            const value = () => form()[field.name];
            return (
              <Show
                when={field.rows}
                fallback={<TextField {...shared} value={value()} onInput={set(field.name)} error={errors()[field.name]} />}
              >
                <TextArea {...shared} value={value()} onInput={set(field.name)} error={errors()[field.name]} />
              </Show>
            );
          }}
        </For>
        <Switch label="Enabled" checked={form().enabled} onChange={set('enabled')} />
        <div class="row">
          <Button type="submit" kind="primary" busy={save.busy()}>
            {stored === undefined ? 'Create test' : 'Save test'}
          </Button>
          <Button onPress={props.onClose}>Cancel</Button>
        </div>
      </form>
    </Drawer>
  );
}
