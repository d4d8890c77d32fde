import { createEffect, createSignal, on } from 'solid-js';
import type { Parameter } from '#core/contract/definitions/parameters.ts';
import { TextField } from '#ui/src/components/form/field.tsx';
import { parseEntry, writeEntry } from '#ui/src/features/run/arguments.ts';
import { same } from '#ui/src/kernel/form/merge.ts';

/** The value that stands in for one that is not given. What is not of the type is kept as it was typed; saving it is refused. */
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
  const valueOf = (text: string): unknown => {
    const parsed = text === '' ? undefined : parse(text);
    return parsed !== undefined && 'fault' in parsed ? text : parsed?.value;
  };
  createEffect(
    on(
      () => [props.parameter.default, props.parameter.type] as const,
      ([value]) => {
        if (same(value, valueOf(typed()))) return;
        setTyped((writeEntry(value) ?? '').replaceAll('\n', ', '));
        setFault(undefined);
      },
    ),
  );
  const take = (text: string) => {
    setTyped(text);
    const parsed = text === '' ? undefined : parse(text);
    setFault(parsed !== undefined && 'fault' in parsed ? parsed.fault : undefined);
    props.onChange(valueOf(text));
  };
  return (
    <TextField
      label={props.label}
      hide_label
      mono
      value={typed()}
      onInput={take}
      placeholder={props.parameter.default === '' ? 'empty' : 'none'}
      error={fault() ?? props.error}
    />
  );
}
