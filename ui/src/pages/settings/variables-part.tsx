import { Index, Show } from 'solid-js';
import * as v from 'valibot';
import type { ServerConfig } from '#core/contract/config.ts';
import { VariableType } from '#core/contract/config.ts';
import { Button, IconButton } from '#ui/src/components/button.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { TextField } from '#ui/src/components/field.tsx';
import { Select } from '#ui/src/components/select.tsx';
import { MOST_VARIABLES, rowFaults, toRows, toVariables, type VariableRow } from '#ui/src/kernel/settings-variables.ts';
import { hint, type PartProps, SettingsFoot, useSettings } from './use-settings.tsx';
import { VARIABLES } from './words.ts';

/** The table; `rowFaults` says what is wrong with its rows. */
const Rows = v.object({ rows: v.array(v.object({ name: v.string(), type: VariableType, text: v.string() })) });
const BOOLEANS = [
  { value: 'true', label: 'true' },
  { value: 'false', label: 'false' },
] as const;

interface Draft extends Record<string, unknown> {
  rows: VariableRow[];
}
const draftOf = ({ global_variables }: ServerConfig): Draft => ({ rows: toRows(global_variables) });

export function VariablesPart(props: PartProps) {
  const form = useSettings(props, draftOf, {
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
      {VARIABLES.add}
    </Button>
  );

  return (
    <form class="stack settings-form" novalidate onSubmit={(event) => void form.submit(event)}>
      <p class="soft small">{hint(props.pending, 'global_variables', VARIABLES.lead)}</p>
      <Show
        when={rows().length > 0}
        fallback={
          <div class="panel">
            <EmptyState icon="braces" title={VARIABLES.none_title} action={adder('plain')}>
              <p>{VARIABLES.none}</p>
            </EmptyState>
          </div>
        }
      >
        <ul class="panel settings-variables" aria-label={VARIABLES.title}>
          <Index each={rows()}>
            {(row, index) => (
              <li>
                <TextField label={VARIABLES.name} mono autocomplete="off" {...form.text(`rows.${index}.name`)} />
                <Select
                  label={VARIABLES.type}
                  options={VARIABLES.types}
                  value={row().type}
                  onChange={(type) => retype(index, type)}
                />
                <Show
                  when={row().type === 'boolean'}
                  fallback={
                    <TextField
                      label={VARIABLES.value}
                      mono
                      {...(row().type === 'string' ? {} : { inputmode: 'decimal' as const })}
                      {...form.text(`rows.${index}.text`)}
                    />
                  }
                >
                  <Select
                    label={VARIABLES.value}
                    options={BOOLEANS}
                    value={row().text === 'true' ? 'true' : 'false'}
                    onChange={(text) => form.set(`rows.${index}.text`, text)}
                  />
                </Show>
                <IconButton
                  icon="trash"
                  label={VARIABLES.remove(row().name)}
                  onPress={() =>
                    form.set(
                      'rows',
                      rows().filter((_, place) => place !== index),
                    )
                  }
                />
              </li>
            )}
          </Index>
        </ul>
        <div class="row">
          {adder('plain')}
          <Show when={rows().length >= MOST_VARIABLES}>
            <span class="small faint">{VARIABLES.full}</span>
          </Show>
        </div>
      </Show>
      <Show when={form.error('rows')}>{(fault) => <p class="field-error">{fault()}</p>}</Show>
      <SettingsFoot form={form} />
    </form>
  );
}
