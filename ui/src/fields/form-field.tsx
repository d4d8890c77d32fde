import { For, type JSX, Match, Switch } from 'solid-js';
import { Checkbox, RadioCards, Switch as OnOff } from '#ui/src/components/form/choice.tsx';
import { type FieldWords, TextArea, TextField } from '#ui/src/components/form/field.tsx';
import { Fieldset } from '#ui/src/components/form/fieldset.tsx';
import { Fixed } from '#ui/src/components/form/fixed.tsx';
import { NumberField } from '#ui/src/components/form/number-field.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { TagsField } from '#ui/src/components/form/tags-field.tsx';
import { TypedField } from '#ui/src/components/form/typed-field.tsx';
import type { Form } from '#ui/src/kernel/form/form.ts';
import { ADMINISTERED, useAdministered, useAskAdministrator } from './administered.ts';
import { choicesOf, fieldOf, NOT_SET, presetsOf } from './kind.ts';

export interface FormFieldProps {
  form: Omit<Form, 'changed'>;
  /** A field of the form, or its path in a row of a list. */
  name: string;
  /** Replaces the label of the contract where the context makes it redundant. */
  label?: string | undefined;
  /** Replaces the help text of the contract. */
  hint?: JSX.Element;
  placeholder?: string | undefined;
  /** Replaces the error of the form. */
  error?: string | undefined;
  /** Required because of another choice, although the contract allows null. */
  required?: boolean;
  /** Adds "optional" to the label. */
  optional?: boolean;
  /** Draws another control, with the label, hint and error of the field. */
  draw?: (words: FieldWords) => JSX.Element;
  /** Columns of cards. */
  columns?: 1 | 2 | 3;
  suggestions?: readonly string[];
}

/** A form field, rendered from its schema in the contract. */
export function FormField(props: FormFieldProps) {
  // The name of a mounted field does not change.
  // oxlint-disable-next-line solid/reactivity
  const { kind, marks } = fieldOf(props.form.schema, props.name);
  // oxlint-disable-next-line solid/reactivity
  const administered = useAdministered(props.form.schema, props.name);
  const ask = useAskAdministrator(administered);
  const words = {
    get label() {
      return props.label ?? marks.label;
    },
    get hint() {
      return administered() ? `${ADMINISTERED} ${ask()}` : (props.hint ?? marks.help);
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
  const choice = () => String(props.form.value(props.name));
  const choose = (value: string) => {
    const typed = kind.type === 'flag' ? value === 'true' : kind.type === 'number' ? Number(value) : value;
    props.form.set(props.name, value === NOT_SET ? null : typed);
  };
  const list = () => (props.form.value(props.name) ?? []) as readonly string[];
  const include = (value: string, included: boolean) =>
    props.form.set(
      props.name,
      kind.values.filter((one) => (one === value ? included : list().includes(one))),
    );

  return (
    <Fixed when={administered()}>
      <Switch
        fallback={
          <TextField
            {...props.form.text(props.name)}
            {...words}
            type={TYPED[marks.control ?? ''] ?? 'text'}
            mono={marks.control === 'mono' || marks.control === 'url'}
            autocomplete="off"
            required={required()}
          />
        }
      >
        <Match when={props.draw}>{(draw) => draw()(words)}</Match>
        <Match when={marks.presets !== undefined}>
          <Select {...words} options={presetsOf(kind, marks, props.form.value(props.name))} value={choice()} onChange={choose} />
        </Match>
        <Match when={kind.type === 'number' && marks.control !== 'cards'}>
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
        <Match when={kind.type === 'list' && marks.choices !== undefined}>
          <Fieldset {...words}>
            <div class="stack" data-gap="3">
              <For each={choicesOf(kind, marks)}>
                {({ value, label, hint }) => (
                  <Checkbox
                    label={label}
                    hint={hint}
                    checked={list().includes(value)}
                    onChange={(included) => include(value, included)}
                  />
                )}
              </For>
            </div>
          </Fieldset>
        </Match>
        <Match when={marks.control === 'lines'}>
          <TypedField
            {...words}
            rows={3}
            value={list()}
            write={(lines) => lines.join('\n')}
            read={(text) => ({ value: linesOf(text) })}
            onChange={(lines) => props.form.set(props.name, lines)}
            required={required()}
          />
        </Match>
        <Match when={kind.type === 'list'}>
          <TagsField
            {...words}
            value={list()}
            onChange={(tags) => props.form.set(props.name, tags)}
            suggestions={props.suggestions ?? kind.values}
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

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

const TYPED: Readonly<Record<string, 'url' | 'email'>> = { url: 'url', email: 'email' };
