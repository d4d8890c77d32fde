import { Index, Show } from 'solid-js';
import * as v from 'valibot';
import { MOST_VARIABLES, type ServerConfig } from '#core/contract/settings/config.ts';
import { field } from '#core/contract/marks.ts';
import { VariableType } from '#core/contract/settings/setting-values.ts';
import { Button, IconButton } from '#ui/src/components/button.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { rowFaults, toRows, toVariables, type VariableRow } from './settings-variables.ts';
import { Live, type PartProps, SettingsForm, useSettings } from './settings-form.tsx';
import { passesFocus } from '#ui/src/components/form/passes-focus.ts';

/** The table; `rowFaults` says what is wrong with its rows. */
const Rows = v.object({
  rows: field(v.array(v.object({ name: v.string(), type: VariableType, text: v.string() })), { label: 'Variables' }),
});
const TYPES = [
  { value: 'string', label: 'Text' },
  { value: 'integer', label: 'Integer' },
  { value: 'float', label: 'Number' },
  { value: 'boolean', label: 'True or false' },
] as const;
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
  const rows = () => form.values.rows;
  const add = () => form.set('rows', [...rows(), { name: '', type: 'string', text: '' }]);
  const retype = (index: number, type: VariableRow['type']) => {
    form.set(`rows.${index}.type`, type);
    const text = rows()[index]?.text ?? '';
    if (type === 'boolean' && text !== 'true' && text !== 'false') form.set(`rows.${index}.text`, 'false');
  };
  const adder = (kind: 'plain' | 'primary') => (
    <Button kind={kind} icon="plus" blocked={rows().length >= MOST_VARIABLES} onPress={add}>
      Add variable
    </Button>
  );

  return (
    <SettingsForm of={props} form={form}>
      <p class="soft small">
        Available as vars.name in transform templates and prompts. Not for secrets: variables are shown here and exported.{' '}
        <Show when={props.pending['global_variables']}>{(change) => <Live value={change().old} />}</Show>
      </p>
      <Show
        when={rows().length > 0}
        fallback={
          <EmptyState framed icon="braces" title="No variables" action={adder('plain')}>
            <p>For values that several templates use, such as a currency or the name of the shop.</p>
          </EmptyState>
        }
      >
        <ul class="panel settings-variables" aria-label="Variables">
          <Index each={rows()}>
            {(row, index) => (
              <li ref={passesFocus}>
                <TextField label="Name" mono autocomplete="off" {...form.text(`rows.${index}.name`)} />
                <Select label="Type" options={TYPES} value={row().type} onChange={(type) => retype(index, type)} />
                <Show
                  when={row().type === 'boolean'}
                  fallback={
                    <TextField
                      label="Value"
                      mono
                      {...(row().type === 'string' ? {} : { inputmode: 'decimal' as const })}
                      {...form.text(`rows.${index}.text`)}
                    />
                  }
                >
                  <Select
                    label="Value"
                    options={BOOLEANS}
                    value={row().text === 'true' ? 'true' : 'false'}
                    onChange={(text) => form.set(`rows.${index}.text`, text)}
                  />
                </Show>
                <IconButton
                  icon="trash"
                  label={`Remove ${row().name || 'variable'}`}
                  onPress={() => form.set('rows', rows().toSpliced(index, 1))}
                />
              </li>
            )}
          </Index>
        </ul>
        <div class="row">
          {adder('plain')}
          <Show when={rows().length >= MOST_VARIABLES}>
            <span class="small faint">This is the most a server can have.</span>
          </Show>
        </div>
      </Show>
      <Show when={form.error('rows')}>{(fault) => <p class="field-error">{fault()}</p>}</Show>
    </SettingsForm>
  );
}
