import { createSignal, For, Show } from 'solid-js';
import { ConnectionDraft, type ConnectionType } from '#core/contract/definitions/connections.ts';
import type { Output } from '#core/contract/index.ts';
import { Button } from '#ui/src/components/button.tsx';
import { FormFoot } from '#ui/src/components/form/form-foot.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { ProblemNotice } from '#ui/src/components/notice.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { Section } from '#ui/src/components/panel.tsx';
import { useForm } from '#ui/src/components/use-form.ts';
import { useQuery } from '#ui/src/components/use-query.ts';
import { emptyDraft, parseAddress, withType } from './connection-draft.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { createMutation } from '#ui/src/kernel/data/mutation.ts';
import { ConnectionFields } from './connection-fields.tsx';
import { TestResult } from './test-result.tsx';
import { WORDS } from './words.ts';
import './connections.css';

export function NewConnection() {
  const { call, router, toasts } = useKernel();
  const types = useQuery((read) => read('connections.types', {}));
  const [address, setAddress] = createSignal('');
  const [tested, setTested] = createSignal<{ readonly draft: string; readonly result: Output<'connections.test'> }>();
  let element: HTMLFormElement | undefined;

  const form = useForm({
    schema: ConnectionDraft,
    // Read-only until somebody decides otherwise: the tables of a database that is being tried out are at stake.
    initial: (): ConnectionDraft => ({ ...emptyDraft({ db_type: 'postgresql', default_port: 5432 }), read_only: true }),
    unsaved: WORDS.unsaved,
    submit: (draft) => call('connections.create', draft),
    onDone: (connection) => {
      toasts.show(`Connected “${connection.name}”.`, 'good');
      router.navigate(router.query().get('next') === 'welcome' ? '/welcome' : `/connections/${connection.id}?tab=tables`);
    },
  });
  const test = createMutation((draft: ConnectionDraft) => call('connections.test_draft', draft));
  const tryIt = async () => {
    setTested(undefined);
    // A name is not needed to try.
    const draft = { ...form.snapshot(), name: form.values.name || 'test' };
    if (draft.database === '' || form.errors().size > 0) form.validate();
    const result = await test.run(draft);
    if (result !== undefined) setTested({ draft: addressOf(form.snapshot()), result });
    return result;
  };
  /** Saves what a test has reached; a failure or a warning is read before it is saved. */
  const connect = async (event: Event) => {
    event.preventDefault();
    const seen = tested();
    const is_seen = seen?.result.success === true && seen.draft === addressOf(form.snapshot());
    const result = is_seen || !form.validate() ? undefined : await tryIt();
    const is_fine = result?.success === true && result.warnings.length === 0;
    // What does not fit the schema is shown at its fields by the attempt.
    if (is_seen || is_fine || form.errors().size > 0) await form.submit(event);
  };
  const type = () => types.data()?.items.find(({ db_type }) => db_type === form.values.db_type);
  const choose = (chosen: ConnectionType) => {
    form.change((draft) => void Object.assign(draft, withType({ ...form.snapshot() }, chosen)));
    setTested(undefined);
  };
  const paste = (text: string) => {
    const found = parseAddress(text);
    setAddress(text);
    if (found === undefined) return;
    setAddress('');
    const kind = types.data()?.items.find(({ db_type }) => db_type === found.db_type);
    form.change((draft) => {
      if (kind !== undefined) Object.assign(draft, withType({ ...form.snapshot() }, kind));
      Object.assign(draft, found);
      if (draft.name === '' && found.database) draft.name = found.database;
    });
  };

  return (
    <Page
      title="Connect a database"
      lead="The connection is tested before it is saved."
      back={{ href: '/connections', label: WORDS.title }}
    >
      <form
        ref={(own) => {
          element = own;
        }}
        class="stack connection-form"
        novalidate
        onSubmit={(event) => void connect(event)}
      >
        <Section title="Kind of database">
          <Show when={types.problem()}>
            {(problem) => <ProblemNotice problem={problem()} onRetry={() => void types.reload()} />}
          </Show>
          <TypePicker types={types.data()?.items} value={form.values.db_type} onChange={choose} />
          <TextField
            label="Connection string"
            hint="Such as postgres://user:password@host:5432/shop. Fills in the fields below."
            optional
            mono
            value={address()}
            onInput={paste}
            error={address().includes('://') ? 'This isn’t the address of a supported database.' : undefined}
          />
        </Section>
        <ConnectionFields form={form} type={type()} />
        <Section title="Test and save">
          <Show when={tested()}>
            {(shown) => (
              <TestResult
                result={shown().result}
                onSuspect={(field) => element?.querySelector<HTMLElement>(`[name="${field}"]`)?.focus()}
                onSave={() => void form.submit()}
              />
            )}
          </Show>
          <Show when={test.problem()}>{(problem) => <ProblemNotice problem={problem()} />}</Show>
          <FormFoot form={form} submit="Connect" always cancel_href="/connections">
            <Button busy={test.busy()} icon="bolt" onPress={() => void tryIt()}>
              Test
            </Button>
          </FormFoot>
        </Section>
      </form>
    </Page>
  );
}

/** All that a test depends on. */
const addressOf = ({ name: _name, ...rest }: ConnectionDraft): string => JSON.stringify(rest);

function TypePicker(props: {
  types: readonly ConnectionType[] | undefined;
  value: string;
  onChange: (type: ConnectionType) => void;
}) {
  return (
    <fieldset class="types">
      <legend class="visually-hidden">Kind of database</legend>
      <For each={props.types?.filter(({ supported }) => supported)} fallback={<div class="types-waiting" aria-busy="true" />}>
        {(type) => (
          <label class="type">
            <input
              type="radio"
              class="visually-hidden"
              name="db_type"
              value={type.db_type}
              checked={props.value === type.db_type}
              onChange={() => props.onChange(type)}
            />
            {type.label}
          </label>
        )}
      </For>
    </fieldset>
  );
}
