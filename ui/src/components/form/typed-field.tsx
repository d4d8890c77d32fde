import { createEffect, createSignal, Show, untrack } from 'solid-js';
import { same } from '#ui/src/kernel/form/merge.ts';
import { type FieldWords, TextArea, TextField } from './field.tsx';

/** The parsed value of a text. With a fault, `value` is one that the schema refuses, such as the text. */
interface Meaning {
  readonly value: unknown;
  readonly fault?: string | undefined;
}

/**
 * A value that is typed as text. The text stays as typed while it parses to the same value; text that cannot be parsed is also stored in
 * the value, so that the schema refuses it and nothing is saved without it.
 */
export function TypedField<V>(
  props: FieldWords & {
    value: V;
    write: (value: V) => string;
    read: (text: string) => Meaning;
    onChange: (value: unknown) => void;
    /** Default: one line. */
    rows?: number;
    placeholder?: string | undefined;
  },
) {
  const [typed, setTyped] = createSignal('');
  createEffect(() => {
    const { value } = props;
    if (!same(value, props.read(untrack(typed)).value)) setTyped(props.write(value));
  });
  const input = (text: string) => {
    setTyped(text);
    props.onChange(props.read(text).value);
  };
  const field = {
    mono: true,
    onInput: input,
    get value() {
      return typed();
    },
    get error() {
      return props.read(typed()).fault ?? props.error;
    },
  };
  return (
    <Show when={props.rows} fallback={<TextField {...props} {...field} />}>
      <TextArea {...props} {...field} />
    </Show>
  );
}
