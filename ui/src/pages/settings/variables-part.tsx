import { Show } from 'solid-js';
import * as v from 'valibot';
import { MOST_VARIABLES, type ServerConfig } from '#core/contract/settings/config.ts';
import { field } from '#core/contract/marks.ts';
import { VARIABLE_CHOICES, VariableType } from '#core/contract/settings/setting-values.ts';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { optionsOf } from '#ui/src/fields/kind.ts';
import { RowsField } from '#ui/src/fields/rows-field.tsx';
import { rowFaults, toRows, toVariables, type VariableRow } from './settings-variables.ts';
import { Live, type PartProps, SettingsForm, useSettings } from './settings-form.tsx';

/** The table; `rowFaults` says what is wrong with its rows. */
const Rows = v.object({
  rows: field(
    v.array(
      v.object({
        name: field(v.string(), { label: 'Name', control: 'mono' }),
        type: field(VariableType, { label: 'Type', choices: VARIABLE_CHOICES }),
        text: field(v.string(), { label: 'Value', control: 'mono' }),
      }),
    ),
    { label: 'Variables' },
  ),
});
const BOOLEANS = [
  { value: 'true', label: 'true' },
  { value: 'false', label: 'false' },
] as const;

interface Draft extends Record<string, unknown> {
  rows: VariableRow[];
}
const draftOf = ({ global_variables }: ServerConfig): Draft => ({ rows: toRows(global_variables) });

export function VariablesPart(props: PartProps) {
  const form = useSettings<Draft>(props, {
    draft: draftOf,
    schema: Rows,
    check: ({ rows }) => rowFaults(rows),
    patch: ({ rows }) => ({ global_variables: toVariables(rows) }),
  });
  const retype = (row: VariableRow, at: `rows.${number}`, type: VariableRow['type']) => {
    form.set(`${at}.type`, type);
    if (type === 'boolean' && row.text !== 'true' && row.text !== 'false') form.set(`${at}.text`, 'false');
  };

  return (
    <SettingsForm of={props} form={form}>
      <p class="soft small">
        Available as vars.name in transform templates and prompts. Not for secrets: variables are shown here and exported.{' '}
        <Show when={props.pending['global_variables']}>{(change) => <Live value={change().old} />}</Show>
      </p>
      <RowsField
        form={form}
        name="rows"
        rows={form.values.rows}
        noun="variable"
        title={({ name }) => name}
        fresh={(): VariableRow => ({ name: '', type: 'string', text: '' })}
        most={MOST_VARIABLES}
        inline
        draw={{
          type: (row, at) => (
            <Select
              label="Type"
              options={optionsOf(VARIABLE_CHOICES)}
              value={row().type}
              onChange={(type) => retype(row(), at, type)}
            />
          ),
          text: (row, at) => (
            <Show
              when={row().type === 'boolean'}
              fallback={
                <TextField
                  label="Value"
                  mono
                  {...(row().type === 'string' ? {} : { inputmode: 'decimal' as const })}
                  {...form.text(`${at}.text`)}
                />
              }
            >
              <Select
                label="Value"
                options={BOOLEANS}
                value={row().text === 'true' ? 'true' : 'false'}
                onChange={(text) => form.set(`${at}.text`, text)}
              />
            </Show>
          ),
        }}
        empty={
          <EmptyState framed icon="braces" title="No variables">
            <p>For values that several templates use, such as a currency or the name of the shop.</p>
          </EmptyState>
        }
      />
      <Show when={form.values.rows.length >= MOST_VARIABLES}>
        <p class="small faint">A server cannot have more variables.</p>
      </Show>
    </SettingsForm>
  );
}
