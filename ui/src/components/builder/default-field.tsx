import { createEffect, createSignal, on } from 'solid-js';
import type { Parameter } from '#core/contract/parameters.ts';
import { TextField } from '#ui/src/components/field.tsx';
import { parseEntry, writeEntry } from '#ui/src/kernel/builder-arguments.ts';
import { same } from '#ui/src/kernel/merge.ts';
import { BUILDER_WORDS as WORDS } from './words.ts';

/** The value that stands in for one that is not given. What is not yet of the type stays as it is typed. */
export function DefaultField(props: {
  label: string;
  parameter: Parameter;
  error: string | undefined;
  onChange: (value: unknown) => void;
}) {
  const [typed, setTyped] = createSignal('');
  const [fault, setFault] = createSignal<string>();
  /** Elements of an array are parted by commas here: there is one line. */
  const parse = (text: string) =>
    parseEntry(props.parameter.type === 'array' && !text.startsWith('[') ? text.replaceAll(',', '\n') : text, props.parameter);
  createEffect(
    on(
      () => [props.parameter.default, props.parameter.type] as const,
      ([value]) => {
        const parsed = typed() === '' ? undefined : parse(typed());
        const mine = parsed !== undefined && 'value' in parsed ? parsed.value : undefined;
        if (same(value, mine)) return;
        setTyped((writeEntry(value) ?? '').replaceAll('\n', ', '));
        setFault(undefined);
      },
    ),
  );
  const take = (text: string) => {
    setTyped(text);
    if (text === '') {
      setFault(undefined);
      return props.onChange(undefined);
    }
    const parsed = parse(text);
    setFault('fault' in parsed ? parsed.fault : undefined);
    props.onChange('fault' in parsed ? undefined : parsed.value);
  };
  return (
    <TextField
      label={props.label}
      hide_label
      mono
      value={typed()}
      onInput={take}
      placeholder={props.parameter.default === '' ? WORDS.empty_text : WORDS.none}
      error={fault() ?? props.error}
    />
  );
}
