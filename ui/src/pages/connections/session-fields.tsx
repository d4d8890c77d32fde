import { createSignal, Index, Show } from 'solid-js';
import { mysqlViews, postgresPolicies } from '#core/lib/sql/caller-policies.ts';
import type { ConnectionDraft, ConnectionType } from '#core/contract/definitions/connections.ts';
import { IconButton } from '#ui/src/components/button.tsx';
import { AddRow } from '#ui/src/components/form/add-row.tsx';
import { Switch } from '#ui/src/components/form/choice.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { Fixed } from '#ui/src/components/form/fixed.tsx';
import { TagsField } from '#ui/src/components/form/tags-field.tsx';
import { Section } from '#ui/src/components/panel.tsx';
import '#ui/src/features/builder/parameters/parameters.css';
import { CodeBlock } from '#ui/src/components/show/code-block.tsx';
import { ADMINISTERED, useAdministered } from '#ui/src/fields/administered.ts';
import { SourceField } from '#ui/src/features/builder/parameters/source-field.tsx';
import type { Form, Path } from '#ui/src/kernel/form/form.ts';
import { passesFocus } from '#ui/src/components/form/passes-focus.ts';

type Values = ConnectionDraft['session_values'];

/** What each statement tells the database of its caller. */
export function SessionFields(props: { form: Form<ConnectionDraft>; type: ConnectionType }) {
  // A form keeps its schema.
  // oxlint-disable-next-line solid/reactivity
  const fixed = useAdministered(props.form.schema, 'session_values');
  const values = () => props.form.values.session_values;
  const set = (next: Values) => props.form.set('session_values', next);
  const change = (index: number, value: Partial<Values[number]>) =>
    set(values().map((one, position) => (position === index ? { ...one, ...value } : one)));
  const dotted = () => props.type.session_roles;
  const role = () => props.form.values.session_role;
  const error = (path: string) => props.form.error(path as Path<ConnectionDraft>);
  return (
    <Section
      title="Callers"
      lead={
        dotted()
          ? 'Policies read these values with current_setting(). They are set for each call and apply to one statement.'
          : 'Views and functions read these values as variables such as @tenant. They are set for each call.'
      }
    >
      <Show when={fixed()}>
        <p class="small soft">{ADMINISTERED}</p>
      </Show>
      <Fixed when={fixed()}>
        <Show when={values().length > 0}>
          <ul class="stack">
            <Index each={values()}>
              {(value, index) => (
                <li class="session-value" ref={passesFocus}>
                  <TextField
                    label="Session value"
                    mono
                    required
                    placeholder={dotted() ? 'app.tenant' : 'tenant'}
                    value={value().name}
                    onInput={(name) => change(index, { name })}
                    error={error(`session_values.${index}.name`)}
                  />
                  <SourceField
                    label="Filled by"
                    caller_only
                    value={value().from}
                    onChange={(from) => change(index, { from })}
                    error={error(`session_values.${index}.from`)}
                  />
                  <IconButton
                    icon="trash"
                    size="small"
                    label={`Remove ${value().name}`}
                    onPress={() => set(values().toSpliced(index, 1))}
                  />
                </li>
              )}
            </Index>
          </ul>
        </Show>
        <AddRow
          label="Add session value"
          error={error('session_values')}
          onPress={() => set([...values(), { name: dotted() ? 'app.sub' : 'sub', from: 'caller.sub' }])}
        />
        <Show when={values().some(({ name }) => name !== '')}>
          <CallerSql form={props.form} postgres={dotted()} />
        </Show>
        <Show when={props.type.session_roles}>
          <Switch
            label="Run as a role of the caller"
            hint="Each statement runs as the first allowed role that the caller has."
            checked={role() !== null}
            onChange={(on) => props.form.set('session_role', on ? { from: 'caller.groups', allow: [] } : null)}
          />
          <Show when={role()}>
            {(chosen) => (
              <div class="grid-2">
                <SourceField
                  label="Role from"
                  caller_only
                  value={chosen().from}
                  onChange={(from) => props.form.set('session_role', { ...chosen(), from })}
                  error={error('session_role.from')}
                />
                <TagsField
                  label="Allowed roles"
                  required
                  value={chosen().allow}
                  onChange={(allow) => props.form.set('session_role', { ...chosen(), allow })}
                  error={error('session_role.allow') ?? error('session_role')}
                />
              </div>
            )}
          </Show>
        </Show>
      </Fixed>
    </Section>
  );
}

/** What a database administrator runs once, to copy. */
function CallerSql(props: { form: Form<ConnectionDraft>; postgres: boolean }) {
  const [table, setTable] = createSignal('orders');
  const [column, setColumn] = createSignal('tenant');
  const sql = () => {
    const { session_values, username, database } = props.form.values;
    const [value] = session_values;
    const options = {
      schema: props.postgres ? 'public' : database,
      table: table(),
      column: column(),
      value: value?.name ?? '',
      is_list: value?.from === 'caller.groups',
      account: username ?? 'sluice',
    };
    return props.postgres ? postgresPolicies(options) : mysqlViews(options);
  };
  return (
    <details class="fold">
      <summary>SQL for the database</summary>
      <div class="stack">
        <p class="small soft">
          {props.postgres
            ? 'Run this SQL as the owner of the table. The policy limits each caller to the rows that match the first session value.'
            : 'Run this SQL as an administrator of the database, and use the view in tools. The view shows each caller their own rows.'}
        </p>
        <div class="grid-2">
          <TextField label="Table" mono value={table()} onInput={setTable} />
          <TextField
            label="Column"
            mono
            value={column()}
            onInput={setColumn}
            hint="The column that names the owner of each row, such as tenant."
          />
        </div>
        <CodeBlock code={sql()} label="SQL for the database" />
      </div>
    </details>
  );
}
