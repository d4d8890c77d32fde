import { createEffect, createSignal, Show, untrack } from 'solid-js';
import { same } from '#ui/src/kernel/form/merge.ts';
import { type FieldWords, TextArea, TextField } from './field.tsx';

/** What a text means. With a fault it is not the value that is wanted: then it is what the schema refuses, such as the text itself. */
interface Meaning {
  readonly value: unknown;
  readonly fault?: string | undefined;
}

/**
 * A value that is typed as text. What was typed stays as it is for as long as it means the value; what cannot be read is kept in the
 * value too, so that saving it is refused and nothing is saved without it.
 */
export function TypedField<V>(
  props: FieldWords & {
    value: V;
    write: (value: V) => string;
    read: (text: string) => Meaning;
    onChange: (value: unknown) => void;
    /** Absent: one line. */
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
