import { createSignal, Show } from 'solid-js';
import { type Connection, ConnectionDraft } from '#core/contract/connections.ts';
import type { Output } from '#core/contract/index.ts';
import { Button } from '#ui/src/components/button.tsx';
import { FormFoot } from '#ui/src/components/form-foot.tsx';
import { ProblemNotice } from '#ui/src/components/notice.tsx';
import { Section } from '#ui/src/components/panel.tsx';
import { useForm } from '#ui/src/components/use-form.ts';
import { useQuery } from '#ui/src/components/use-query.ts';
import { changesOf, draftOf } from '#ui/src/kernel/connection-draft.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { createMutation } from '#ui/src/kernel/mutation.ts';
import { ConnectionFields } from './connection-fields.tsx';
import { TestResult } from './test-result.tsx';
import { LABELS, WORDS } from './words.ts';

/** The stored connection as a form; what is tried is always what is saved. */
export function ConnectionSettings(props: { connection: Connection; onSaved: () => void }) {
  const { call, toasts } = useKernel();
  const types = useQuery((signal) => call('connections.types', {}, signal));
  const [tested, setTested] = createSignal<Output<'connections.test'>>();
  // What the form began with; somebody's later change is met by the optimistic lock.
  // oxlint-disable-next-line solid/reactivity
  let stored = props.connection;
  let element: HTMLFormElement | undefined;

  const form = useForm({
    schema: ConnectionDraft,
    initial: (): ConnectionDraft => draftOf(stored),
    unsaved: WORDS.unsaved,
    labels: LABELS,
    latest: async () => {
      stored = await call('connections.get', { id: stored.id });
      return draftOf(stored);
    },
    submit: (draft) => call('connections.update', { id: stored.id, version: stored.version, ...changesOf(stored, draft) }),
    onDone: (connection) => {
      stored = connection;
      form.reset(draftOf(connection));
      toasts.show(WORDS.saved(connection.name), 'good');
      props.onSaved();
    },
  });
  const test = createMutation((id: string) => call('connections.test', { id }));
  const tryIt = async () => {
    setTested(undefined);
    if (form.dirty() && !(await form.submit())) return;
    setTested(await test.run(stored.id));
  };
  const type = () => types.data()?.items.find(({ db_type }) => db_type === form.values.db_type);

  return (
    <form
      ref={(own) => {
        element = own;
      }}
      class="stack connection-form"
      novalidate
      onSubmit={(event) => void form.submit(event)}
    >
      <ConnectionFields form={form} type={type()} stored={props.connection} />
      <Section title="Save and try">
        <Show when={tested()}>
          {(result) => (
            <TestResult
              result={result()}
              onSuspect={(field) => element?.querySelector<HTMLElement>(`[name="${field}"]`)?.focus()}
            />
          )}
        </Show>
        <Show when={test.problem()}>{(problem) => <ProblemNotice problem={problem()} />}</Show>
        <FormFoot form={form} submit="Save">
          <Button icon="bolt" busy={test.busy()} onPress={() => void tryIt()}>
            {form.dirty() ? 'Save and test' : 'Test'}
          </Button>
          <Show when={form.dirty()}>
            <Button kind="quiet" onPress={() => form.reset()}>
              Discard
            </Button>
          </Show>
        </FormFoot>
      </Section>
    </form>
  );
}
