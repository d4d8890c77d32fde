import * as Kobalte from '@kobalte/core/number-field';
import { createSignal, createUniqueId, Show } from 'solid-js';
import { describedBy, FieldFrame, type FieldWords } from './field.tsx';

interface NumberFieldProps extends FieldWords {
  /** A text is one that is not a number yet, as it was typed. */
  value: number | string | null;
  onInput: (value: number | string | null) => void;
  min?: number | undefined;
  max?: number | undefined;
  step?: number | undefined;
  /** Said at the end of the field: `ms`, `rows`. */
  unit?: string | undefined;
  placeholder?: string | undefined;
}

/** A number that may be missing. A text that is not a number is kept and reported, so that it is never saved as nothing. */
export function NumberField(props: NumberFieldProps) {
  const id = createUniqueId();
  const [typed, setTyped] = createSignal('');
  const text = () => (read(typed()) === props.value ? typed() : String(props.value ?? ''));
  const error = () => props.error ?? (typeof props.value === 'string' ? 'Enter a number, without a unit.' : undefined);
  const take = (next: string) => {
    setTyped(next);
    props.onInput(read(next));
  };
  return (
    <FieldFrame {...props} error={error()} id={id}>
      <Kobalte.Root
        classList={{ 'with-end': props.unit !== undefined }}
        value={text()}
        onChange={take}
        format={false}
        changeOnWheel={false}
        {...(props.min === undefined ? {} : { minValue: props.min })}
        {...(props.max === undefined ? {} : { maxValue: props.max })}
        step={props.step ?? 1}
        readOnly={props.blocked === true}
        required={props.required === true}
        validationState={error() === undefined ? 'valid' : 'invalid'}
      >
        <Kobalte.Input
          id={id}
          class="input num"
          // Kobalte shows nothing where there is no number.
          value={text()}
          name={props.name}
          placeholder={props.placeholder}
          aria-describedby={describedBy(id, { hint: props.hint, error: error() })}
          onInput={(event) => {
            // Kobalte would take back what is not a number, without a word.
            event.preventDefault();
            take(event.currentTarget.value);
          }}
        />
        <Show when={props.unit}>
          <span class="input-suffix">{props.unit}</span>
        </Show>
      </Kobalte.Root>
    </FieldFrame>
  );
}

function read(text: string): number | string | null {
  const trimmed = text.trim();
  if (trimmed === '') return null;
  return Number.isFinite(Number(trimmed)) ? Number(trimmed) : text;
}
