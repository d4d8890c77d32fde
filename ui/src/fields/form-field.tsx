import { type JSX, Match, Switch } from 'solid-js';
import { RadioCards, Switch as OnOff } from '#ui/src/components/form/choice.tsx';
import { TextArea, TextField } from '#ui/src/components/form/field.tsx';
import { Fixed } from '#ui/src/components/form/fixed.tsx';
import { NumberField } from '#ui/src/components/form/number-field.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { TagsField } from '#ui/src/components/form/tags-field.tsx';
import type { Form } from '#ui/src/kernel/form/form.ts';
import { ADMINISTERED, useAdministered } from './administered.ts';
import { choicesOf, fieldOf, NOT_SET } from './kind.ts';

interface FormFieldProps {
  form: Form;
  name: string;
  /** Stands in place of what the contract calls it, where the place says the rest. */
  label?: string | undefined;
  /** Stands in place of the contract's help. */
  hint?: JSX.Element;
  placeholder?: string | undefined;
  /** Stands in place of what the form has found. */
  error?: string | undefined;
  /** Also where the contract allows nothing, because of what else was chosen. */
  required?: boolean;
  /** Says so beside the label. */
  optional?: boolean;
  /** A secret that is stored already. */
  stored?: boolean | undefined;
  /** Columns of cards. */
  columns?: 1 | 2 | 3;
  suggestions?: readonly string[];
}

/** One field of a form, drawn from what the contract says of it. */
export function FormField(props: FormFieldProps) {
  // A field keeps its name for as long as it is shown.
  // oxlint-disable-next-line solid/reactivity
  const { kind, marks } = fieldOf(props.form.schema, props.name);
  // oxlint-disable-next-line solid/reactivity
  const administered = useAdministered(props.form.schema, props.name);
  const secretHint = () => {
    if (marks.secret !== true || props.stored === undefined) return undefined;
    return props.stored ? 'A secret is stored. Leave empty to keep it.' : 'No secret is stored.';
  };
  const words = {
    get label() {
      return props.label ?? marks.label;
    },
    get hint() {
      return administered() ? ADMINISTERED : (props.hint ?? secretHint() ?? marks.help);
    },
    get placeholder() {
      return props.placeholder ?? marks.placeholder;
    },
    get error() {
      return props.error ?? props.form.errorWithin(props.name);
    },
    get name() {
      return props.name;
    },
    get optional() {
      return props.optional;
    },
  };
  const required = () => props.required ?? (kind.type !== 'flag' && !kind.nullable);
  const choice = () => String(props.form.values[props.name]);
  const choose = (value: string) =>
    props.form.set(props.name, value === NOT_SET ? null : kind.type === 'flag' ? value === 'true' : value);

  return (
    <Fixed when={administered()}>
      <Switch
        fallback={
          <TextField
            {...props.form.text(props.name)}
            {...words}
            type={marks.secret ? 'password' : (TYPED[marks.control ?? ''] ?? 'text')}
            mono={marks.control === 'mono' || marks.control === 'url'}
            autocomplete={marks.secret ? 'new-password' : 'off'}
            required={required()}
          />
        }
      >
        <Match when={kind.type === 'number'}>
          <NumberField
            {...props.form.number(props.name)}
            {...words}
            unit={marks.unit}
            min={kind.least}
            max={kind.most}
            required={required()}
          />
        </Match>
        <Match when={kind.type === 'flag' && !kind.nullable}>
          <OnOff {...props.form.flag(props.name)} {...words} />
        </Match>
        <Match when={marks.control === 'cards'}>
          <RadioCards
            {...words}
            options={choicesOf(kind, marks)}
            value={choice()}
            onChange={choose}
            columns={props.columns ?? 1}
          />
        </Match>
        <Match when={kind.type === 'choice' || kind.type === 'flag'}>
          <Select {...words} options={choicesOf(kind, marks)} value={choice()} onChange={choose} />
        </Match>
        <Match when={kind.type === 'list'}>
          <TagsField
            {...words}
            value={(props.form.values[props.name] ?? []) as readonly string[]}
            onChange={(list) => props.form.set(props.name, list)}
            {...(props.suggestions === undefined ? {} : { suggestions: props.suggestions })}
          />
        </Match>
        <Match when={marks.control === 'area' || marks.control === 'code'}>
          <TextArea
            {...props.form.text(props.name)}
            {...words}
            rows={marks.control === 'code' ? 3 : 4}
            mono={marks.control === 'code'}
            required={required()}
          />
        </Match>
      </Switch>
    </Fixed>
  );
}

const TYPED: Readonly<Record<string, 'url' | 'email'>> = { url: 'url', email: 'email' };
