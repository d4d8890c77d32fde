import { Match, Switch } from 'solid-js';
import { Combobox } from '#ui/src/components/combobox.tsx';
import { TextArea, TextField } from '#ui/src/components/field.tsx';
import { Select } from '#ui/src/components/select.tsx';
import type { ArgumentField } from '#ui/src/kernel/playground-form.ts';
import { WORDS } from './words.ts';

interface InputProps {
  field: ArgumentField;
  value: string;
  error: string | undefined;
  proposals: readonly string[] | undefined;
  onInput: (value: string) => void;
}

/** One argument in the field that fits its type. */
export function ArgumentInput(props: InputProps) {
  const words = () => ({
    label: props.field.name,
    required: props.field.required,
    optional: !props.field.required,
    error: props.error,
    hint: hintOf(props.field),
    name: props.field.name,
  });
  const choices = () => {
    const options = props.field.options ?? (props.field.type === 'boolean' ? ['true', 'false'] : []);
    return [{ value: '', label: WORDS.unset }, ...options.map((value) => ({ value, label: value }))];
  };
  return (
    <Switch
      fallback={
        <TextField
          {...words()}
          mono
          value={props.value}
          onInput={props.onInput}
          type={inputType(props.field)}
          {...inputMode(props.field)}
        />
      }
    >
      <Match when={props.field.type === 'array' || props.field.type === 'json'}>
        <TextArea {...words()} mono rows={3} value={props.value} onInput={props.onInput} />
      </Match>
      <Match when={props.field.type === 'boolean' || props.field.options !== undefined}>
        <Select {...words()} value={props.value} onChange={props.onInput} options={choices()} />
      </Match>
      <Match when={props.proposals}>
        {(proposals) => (
          <Combobox
            {...words()}
            free
            placeholder=""
            value={props.value === '' ? undefined : props.value}
            onChange={(value = '') => props.onInput(value)}
            options={proposals().map((value) => ({ value, label: value }))}
          />
        )}
      </Match>
    </Switch>
  );
}

const inputType = ({ type }: ArgumentField): 'text' | 'date' => (type === 'date' ? 'date' : 'text');
const inputMode = ({ type }: ArgumentField): { inputmode?: 'numeric' | 'decimal' } =>
  type === 'integer' ? { inputmode: 'numeric' } : type === 'number' ? { inputmode: 'decimal' } : {};

function hintOf(field: ArgumentField): string | undefined {
  const parts = [
    field.description,
    field.fallback === undefined || field.fallback === '' ? '' : WORDS.fallback(field.fallback),
    field.type === 'array' ? WORDS.one_a_line : '',
    field.type === 'json' ? WORDS.as_json : '',
  ].filter((part) => part !== '');
  return parts.length === 0 ? undefined : parts.map((part) => (/[.!?]$/.test(part) ? part : `${part}.`)).join(' ');
}
