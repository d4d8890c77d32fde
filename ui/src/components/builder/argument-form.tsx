import { For, Match, Show, Switch } from 'solid-js';
import type { Parameter } from '#core/contract/parameters.ts';
import { TextArea, TextField } from '#ui/src/components/field.tsx';
import { Select } from '#ui/src/components/select.tsx';
import { type Entered, writeEntry } from '#ui/src/kernel/builder-arguments.ts';
import { BUILDER_WORDS as WORDS } from './words.ts';
import './result.css';

/** A value for each parameter, in a field of its type. What is empty is not given. */
export function ArgumentForm(props: {
  parameters: readonly Parameter[];
  entered: Entered;
  onInput: (name: string, value: string | undefined) => void;
  error: (name: string) => string | undefined;
}) {
  return (
    <div class="argument-form">
      <For each={props.parameters.map(({ name }) => name)}>
        {(name) => (
          <Show when={props.parameters.find((parameter) => parameter.name === name)}>
            {(parameter) => (
              <ArgumentField
                parameter={parameter()}
                value={props.entered[name]}
                onInput={(value) => props.onInput(name, value)}
                error={props.error(name)}
              />
            )}
          </Show>
        )}
      </For>
    </div>
  );
}

const BOOLEANS = ['true', 'false'] as const;
const ABSENT = '\0';

function ArgumentField(props: {
  parameter: Parameter;
  value: string | undefined;
  onInput: (value: string | undefined) => void;
  error: string | undefined;
}) {
  const label = () => props.parameter.name;
  const optional = () => !props.parameter.required;
  const fallback = () => writeEntry(props.parameter.default);
  const placeholder = () => {
    const value = fallback();
    if (value === undefined) return optional() ? WORDS.not_given : undefined;
    return WORDS.by_default(value === '' ? WORDS.empty_text : value.split('\n').join(', '));
  };
  const choices = () => {
    if (props.parameter.type === 'boolean') return BOOLEANS;
    return props.parameter.type === 'array' ? undefined : props.parameter.enum?.map(String);
  };
  const write = (text: string) => props.onInput(text === '' && optional() ? undefined : text);
  const lines = () => props.parameter.type === 'array' || props.parameter.type === 'json';

  return (
    <Switch
      fallback={
        <TextField
          label={label()}
          optional={optional()}
          mono={props.parameter.type !== 'string' && props.parameter.type !== 'date'}
          type={props.parameter.type === 'date' ? 'date' : 'text'}
          value={props.value ?? ''}
          onInput={write}
          placeholder={placeholder()}
          hint={props.parameter.type === 'date' && fallback() !== undefined ? placeholder() : undefined}
          error={props.error}
        />
      }
    >
      <Match when={choices()}>
        {(list) => (
          <Select
            label={label()}
            optional={optional()}
            options={[
              ...(optional() || fallback() !== undefined ? [{ value: ABSENT, label: placeholder() ?? WORDS.not_given }] : []),
              ...list().map((value) => ({ value, label: value })),
            ]}
            value={props.value ?? ABSENT}
            onChange={(value: string) => props.onInput(value === ABSENT ? undefined : value)}
            error={props.error}
          />
        )}
      </Match>
      <Match when={lines()}>
        <TextArea
          label={label()}
          optional={optional()}
          mono
          rows={3}
          value={props.value ?? ''}
          onInput={write}
          placeholder={placeholder() ?? (props.parameter.type === 'array' ? 'One element a line' : '{}')}
          error={props.error}
        />
      </Match>
    </Switch>
  );
}
