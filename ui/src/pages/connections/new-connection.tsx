import { createSignal, For, Show } from 'solid-js';
import { ConnectionDraft, type ConnectionType } from '#core/contract/connections.ts';
import type { Output } from '#core/contract/index.ts';
import { Button } from '#ui/src/components/button.tsx';
import { FormFoot } from '#ui/src/components/form-foot.tsx';
import { TextField } from '#ui/src/components/field.tsx';
import { ProblemNotice } from '#ui/src/components/notice.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { Section } from '#ui/src/components/panel.tsx';
import { useForm } from '#ui/src/components/use-form.ts';
import { useQuery } from '#ui/src/components/use-query.ts';
import { emptyDraft, parseAddress, withType } from '#ui/src/kernel/connection-draft.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { createMutation } from '#ui/src/kernel/mutation.ts';
import { ConnectionFields } from './connection-fields.tsx';
import { TestResult } from './test-result.tsx';
import { WORDS } from './words.ts';
import './connections.css';

export function NewConnection() {
  const { call, router, toasts } = useKernel();
  const types = useQuery((signal) => call('connections.types', {}, signal));
  const [address, setAddress] = createSignal('');
  const [tested, setTested] = createSignal<Output<'connections.test'>>();
  let element: HTMLFormElement | undefined;

  const form = useForm({
    schema: ConnectionDraft,
    initial: (): ConnectionDraft => emptyDraft({ db_type: 'postgresql', default_port: 5432 }),
    unsaved: WORDS.unsaved,
    submit: (draft) => call('connections.create', draft),
    onDone: (connection) => {
      toasts.show(WORDS.created(connection.name), 'good');
      router.navigate(router.query().get('next') === 'welcome' ? '/welcome' : `/connections/${connection.id}?tab=tables`);
    },
  });
  const test = createMutation((draft: ConnectionDraft) => call('connections.test_draft', draft));
  const tryIt = async () => {
    setTested(undefined);
    // A name is not needed to try.
    const draft = { ...form.snapshot(), name: form.values.name || 'test' };
    if (draft.database === '' || form.errors().size > 0) form.validate();
    setTested(await test.run(draft));
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
    <Page title={WORDS.new_title} lead={WORDS.new_lead} back={{ href: '/connections', label: WORDS.title }}>
      <form
        ref={(own) => {
          element = own;
        }}
        class="stack connection-form"
        novalidate
        onSubmit={(event) => void form.submit(event)}
      >
        <Section title="Kind of database">
          <Show when={types.problem()}>
            {(problem) => <ProblemNotice problem={problem()} onRetry={() => void types.reload()} />}
          </Show>
          <TypePicker types={types.data()?.items} value={form.values.db_type} onChange={choose} />
          <TextField
            label={WORDS.address}
            hint={WORDS.address_hint}
            optional
            mono
            value={address()}
            onInput={paste}
            error={address().includes('://') ? 'This address is not of a kind that is known here.' : undefined}
          />
        </Section>
        <ConnectionFields form={form} type={type()} />
        <Section title="Try and save">
          <Show when={tested()}>
            {(result) => (
              <TestResult
                result={result()}
                onSuspect={(field) => element?.querySelector<HTMLElement>(`[name="${field}"]`)?.focus()}
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
