import { createEffect, createSignal, Show } from 'solid-js';
import { type Connection, ConnectionDraft, type DbType } from '#core/contract/definitions/connections.ts';
import { Button } from '#ui/src/components/button.tsx';
import { Fixed } from '#ui/src/components/form/fixed.tsx';
import { focusField, focusInvalid } from '#ui/src/components/form/focus-invalid.ts';
import { FormFoot } from '#ui/src/components/form/form-foot.tsx';
import { Fault } from '#ui/src/components/notice.tsx';
import { useRecordForm } from '#ui/src/components/use-form.ts';
import { useQuery } from '#ui/src/components/use-query.ts';
import type { ConnectionHealth } from './connection-health.ts';
import { changesOf, checkDraft, draftOf } from './connection-draft.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { ConnectionFields } from './connection-fields.tsx';
import { TestResult } from './test-result.tsx';
import { faultOf, UNSAVED } from './words.ts';

/** The stored connection as a form; what is tried is always what is saved. */
export function ConnectionSettings(props: {
  connection: Connection;
  health: ConnectionHealth;
  onSaved: () => void;
  /** It was deleted by somebody. */
  onGone: () => void;
}) {
  const { call, session, toasts } = useKernel();
  const fixed = () => !session.may('connections.update');
  const types = useQuery((read) => read('connections.types', {}));
  const [is_tested, setTested] = createSignal(false);
  let element: HTMLFormElement | undefined;

  const form = useRecordForm({
    record: () => props.connection,
    kind: 'connection',
    schema: ConnectionDraft,
    toValues: draftOf,
    check: checkDraft,
    unsaved: UNSAVED,
    read: ({ id }) => call('connections.get', { id }),
    save: (draft, stored) => call('connections.update', { id: stored.id, version: stored.version, ...changesOf(stored, draft) }),
    onDone: ({ name }) => {
      toasts.show(`Saved “${name}”. It goes live with the next deploy.`, 'good');
      props.onSaved();
      void tryIt();
    },
  });
  const health = () => props.health.of(props.connection.id);
  createEffect(() => form.problem()?.code === 'not_found' && props.onGone());
  const tested = () => {
    const found = health();
    return is_tested() && found && 'result' in found ? found.result : undefined;
  };
  /** Also after each save: what is wrong shows now and not with the next deploy. */
  const tryIt = async () => {
    setTested(true);
    await props.health.check([props.connection.id]);
    element?.lastElementChild?.scrollIntoView({ block: 'nearest' });
  };
  const untested = () => {
    const found = health();
    return is_tested() && found?.state === 'unknown' ? found.reason : undefined;
  };
  const saveAndTry = async () => {
    if (!form.dirty()) return tryIt();
    if (!(await form.submit())) void focusInvalid(element);
  };
  /** A server of another kind than the connection says: MariaDB behind `mysql://`, say. */
  const kindOf = (found: DbType | undefined) => {
    const label = types.data()?.items.find(({ db_type }) => db_type === found)?.label;
    if (found === undefined || label === undefined) return undefined;
    if (form.values.db_type === found) return { sentence: `The server is ${label}. Save to keep that as the kind of database.` };
    const onChoose = fixed() ? undefined : () => form.set('db_type', found);
    return { sentence: `The server is ${label}, and the connection is of another kind.`, onChoose };
  };
  const type = () => types.data()?.items.find(({ db_type }) => db_type === form.values.db_type);

  return (
    <form
      ref={(form_element) => {
        element = form_element;
      }}
      class="stack connection-form"
      novalidate
      onSubmit={(event) => void form.submit(event)}
    >
      <Fixed when={fixed()}>
        <ConnectionFields
          form={form}
          type={type()}
          stored={props.connection}
          fault={form.dirty() ? undefined : faultOf(tested())}
          onTrust={fixed() ? undefined : (field, host_key) => form.set(field as `ssh.${string}`, host_key)}
        />
      </Fixed>
      <div class="sticky-foot">
        <Show
          when={!fixed()}
          fallback={
            <div class="row">
              <Button icon="bolt" busy={health()?.state === 'checking'} onPress={() => void tryIt()}>
                Test
              </Button>
            </div>
          }
        >
          <FormFoot form={form} submit="Save">
            <Button icon="bolt" busy={health()?.state === 'checking'} onPress={() => void saveAndTry()}>
              {form.dirty() ? 'Save and test' : 'Test'}
            </Button>
          </FormFoot>
        </Show>
      </div>
      <div class="stack">
        <Show when={tested()}>
          {(result) => (
            <TestResult
              result={result()}
              db_type={props.connection.db_type}
              kind={kindOf(result().db_type)}
              onSuspect={(field) => {
                const suspect = element?.querySelector<HTMLElement>(`[name="${field}"]`);
                if (suspect) focusField(suspect);
              }}
            />
          )}
        </Show>
        <Fault text={untested()} title="Not tested" />
      </div>
    </form>
  );
}
