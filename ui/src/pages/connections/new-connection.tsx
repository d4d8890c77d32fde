import { createSignal, For, Show } from 'solid-js';
import { ConnectionDraft, type ConnectionType } from '#core/contract/definitions/connections.ts';
import type { Output } from '#core/contract/index.ts';
import { Button } from '#ui/src/components/button.tsx';
import { focusField, focusInvalid } from '#ui/src/components/form/focus-invalid.ts';
import { FormFoot } from '#ui/src/components/form/form-foot.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { Failed, ProblemNotice } from '#ui/src/components/notice.tsx';
import { FolderButton } from '#ui/src/features/connect/folder-button.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { Section } from '#ui/src/components/panel.tsx';
import { useForm } from '#ui/src/components/use-form.ts';
import { useQuery } from '#ui/src/components/use-query.ts';
import { checkDraft, emptyDraft, fieldsOf, leftOut, parseAddress, toSent, withType } from './connection-draft.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { createMutation } from '#ui/src/kernel/data/mutation.ts';
import { ConnectionFields } from './connection-fields.tsx';
import { TestResult } from './test-result.tsx';
import { faultOf, UNSAVED } from './words.ts';
import './connections.css';

export function NewConnection() {
  const { call, router, toasts } = useKernel();
  const types = useQuery((read) => read('connections.types', {}));
  const [address, setAddress] = createSignal('');
  const [refused, setRefused] = createSignal(false);
  const [ignored, setIgnored] = createSignal<readonly string[]>([]);
  const [tested, setTested] = createSignal<{
    readonly draft: string;
    readonly result: Output<'connections.test'>;
    readonly by: 'test' | 'connect';
  }>();
  let element: HTMLFormElement | undefined;

  const form = useForm({
    schema: ConnectionDraft,
    // Read-only by default, which protects the data of a database that is being tried out.
    initial: (): ConnectionDraft => ({ ...emptyDraft({ db_type: 'postgresql', default_port: 5432 }), read_only: true }),
    check: checkDraft,
    unsaved: UNSAVED,
    submit: (draft) => call('connections.create', toSent(draft)),
    onDone: (connection) => {
      toasts.show(`Connected “${connection.name}”.`, 'good');
      router.navigate(router.query().get('next') === 'welcome' ? '/welcome' : `/connections/${connection.id}?tab=tables`);
    },
  });
  const test = createMutation((draft: ConnectionDraft) => call('connections.test_draft', toSent(draft)));
  const tryIt = async (by: 'test' | 'connect') => {
    setTested(undefined);
    // A test requires no name.
    const draft = { ...form.snapshot(), name: form.values.name || 'test' };
    const incomplete = draft.database === '' || Object.keys(checkDraft(draft)).length > 0 || form.errors().size > 0;
    if (incomplete && !form.validate() && [...form.errors().keys()].some((field) => field !== 'name')) {
      const first = element?.querySelector<HTMLElement>('[aria-invalid=true]:not([name=name])');
      if (first) focusField(first);
      return undefined;
    }
    const tried = addressOf(form.snapshot());
    const result = await test.run(draft);
    const refused_by = test.problem();
    if (refused_by !== undefined && refused_by.errors.length > 0) {
      form.refuse(refused_by);
      void focusInvalid(element);
      return undefined;
    }
    if (result !== undefined) {
      // The detected type does not change what was tested.
      const is_same = result.db_type !== undefined && addressOf(form.values) === tried;
      if (is_same) form.set('db_type', result.db_type);
      setTested({ draft: is_same ? addressOf(form.snapshot()) : tried, result, by });
    }
    element?.lastElementChild?.scrollIntoView({ block: 'nearest' });
    return seen()?.result;
  };
  /** The newest test, if the fields have not changed since. */
  const seen = () => {
    const newest = tested();
    return newest?.draft === addressOf(form.values) ? newest : undefined;
  };
  /** Saves after a successful test; failures and warnings are shown first. */
  const connect = async (event: Event) => {
    event.preventDefault();
    const is_seen = seen()?.result.success === true;
    // The submit shows schema errors at the fields.
    if (!form.validate()) return save();
    const result = is_seen ? undefined : await tryIt('connect');
    const is_fine = result?.success === true && result.warnings.length === 0;
    if (is_seen || is_fine) await save();
  };
  const save = async () => {
    if (!(await form.submit())) void focusInvalid(element);
  };
  const trust = async (field: string, host_key: string) => {
    form.set(field as `ssh.${string}`, host_key);
    await tryIt('test');
  };
  const type = () => types.data()?.items.find(({ db_type }) => db_type === form.values.db_type);
  const choose = (chosen: ConnectionType) => {
    form.change((draft) => void Object.assign(draft, withType({ ...form.snapshot() }, chosen)));
    setTested(undefined);
  };
  /** Typed text is a partial address until blur; pasted text is a complete one. */
  const typeAddress = (text: string) => {
    const is_pasted = text.length > address().length + 1;
    setAddress(text);
    setRefused(false);
    if (is_pasted) fill(text.includes('://'));
  };
  const extrasOf = (db_type: string | undefined): readonly string[] =>
    types
      .data()
      ?.items.find((kind) => kind.db_type === db_type)
      ?.extra_fields.map(({ name }) => name) ?? [];
  const fill = (is_whole = true) => {
    if (address().trim() === '') return;
    const found = parseAddress(address(), extrasOf);
    if (found === undefined) {
      setRefused(is_whole);
      return;
    }
    setIgnored(leftOut(address(), extrasOf(found.db_type)));
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
      back={{ href: '/connections', label: 'Databases' }}
    >
      <form
        ref={(form_element) => {
          element = form_element;
        }}
        class="stack connection-form"
        novalidate
        onSubmit={(event) => void connect(event)}
      >
        <Section title="Kind of database">
          <Failed of={types} />
          <TypePicker types={types.data()?.items} value={form.values.db_type} onChange={choose} />
          <Show when={fieldsOf(form.values.db_type).host !== undefined}>
            <TextField
              label="Connection string"
              hint={
                ignored().length === 0
                  ? 'Such as postgres://user:password@host:5432/shop. Fills in the fields below.'
                  : `The fields below are filled in. Ignored, because no field holds it: ${ignored().join(', ')}.`
              }
              optional
              mono
              value={address()}
              onInput={typeAddress}
              onBlur={() => fill()}
              onKeyDown={(event) => {
                if (event.key !== 'Enter' || address() === '') return;
                event.preventDefault();
                fill();
              }}
              error={
                refused()
                  ? 'This isn’t the address of a supported database. Write it like postgres://user:password@host:5432/shop, or fill in the fields below.'
                  : undefined
              }
            />
          </Show>
        </Section>
        <Show when={form.values.db_type === 'duckdb'}>
          <Section
            title="New folder"
            lead="For files that you have here. To use files that are on the server already, fill in the fields below."
          >
            <div class="row">
              <FolderButton name={form.values.name} label="Create an empty folder" onCreated={() => form.reset()} />
            </div>
          </Section>
        </Show>
        <ConnectionFields
          form={form}
          type={type()}
          fault={faultOf(seen()?.result)}
          onTrust={(field, host_key) => void trust(field, host_key)}
        />
        <div class="sticky-foot">
          <FormFoot form={form} submit="Connect" always cancel_href="/connections">
            <Button busy={test.busy()} icon="bolt" onPress={() => void tryIt('test')}>
              Test
            </Button>
          </FormFoot>
        </div>
        {/* Below the buttons, which stay under the pointer. */}
        <div class="stack">
          <Show when={tested() !== undefined && seen() === undefined}>
            <p class="small soft">The fields changed since the last test.</p>
          </Show>
          <Show when={seen()}>
            {(shown) => (
              <TestResult
                result={shown().result}
                db_type={form.values.db_type}
                onSuspect={(field) => {
                  const suspect = element?.querySelector<HTMLElement>(`[name="${field}"]`);
                  if (suspect) focusField(suspect);
                }}
                kind={
                  shown().result.db_type && {
                    sentence: `The server is ${type()?.label}, so the kind of database is ${type()?.label} now.`,
                  }
                }
                onSave={shown().result.success && shown().by === 'test' ? undefined : () => void save()}
              />
            )}
          </Show>
          <Show when={test.problem()?.errors.length === 0 && test.problem()}>
            {(problem) => <ProblemNotice problem={problem()} />}
          </Show>
        </div>
      </form>
    </Page>
  );
}

/** All inputs of a test. */
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
            <TypeLabel label={type.label} />
          </label>
        )}
      </For>
    </fieldset>
  );
}

/** A label such as “libSQL (remote)”: the text in brackets is smaller. */
function TypeLabel(props: { label: string }) {
  const parts = () => /^(?<name>.+?) \((?<detail>.+)\)$/.exec(props.label)?.groups;
  return (
    <span class="type-label">
      {parts()?.['name'] ?? props.label}
      <Show when={parts()?.['detail']}>{(detail) => <span class="faint">{detail()}</span>}</Show>
    </span>
  );
}
