import { createEffect, createSignal, createUniqueId, on, Show } from 'solid-js';
import { describedBy, FieldFrame, type FieldWords } from './field.tsx';

interface NumberFieldProps extends FieldWords {
  value: number | null;
  onInput: (value: number | null) => void;
  min?: number;
  max?: number;
  step?: number;
  /** Said at the end of the field: `ms`, `rows`. */
  unit?: string;
  placeholder?: string | undefined;
}

/** A number that may be missing. What is no number stays as it was typed and is missing until it becomes one. */
export function NumberField(props: NumberFieldProps) {
  const id = createUniqueId();
  const [typed, setTyped] = createSignal('');
  createEffect(
    on(
      () => props.value,
      (value) => {
        if (value !== read(typed())) setTyped(value === null ? '' : String(value));
      },
    ),
  );
  const take = (text: string) => {
    setTyped(text);
    props.onInput(read(text));
  };
  const step = (direction: 1 | -1) => {
    const from = read(typed()) ?? props.min ?? 0;
    const next = from + direction * (props.step ?? 1);
    take(String(Math.min(props.max ?? Infinity, Math.max(props.min ?? -Infinity, next))));
  };
  return (
    <FieldFrame {...props} id={id}>
      <div classList={{ 'with-end': props.unit !== undefined }}>
        <input
          id={id}
          class="input num"
          name={props.name}
          type="text"
          inputmode="decimal"
          autocomplete="off"
          value={typed()}
          onInput={(event) => take(event.currentTarget.value)}
          onKeyDown={(event) => {
            const direction = ({ ArrowUp: 1, ArrowDown: -1 } as const)[event.key];
            if (direction === undefined || props.blocked) return;
            event.preventDefault();
            step(direction);
          }}
          placeholder={props.placeholder}
          readOnly={props.blocked}
          aria-required={props.required ? 'true' : undefined}
          aria-invalid={props.error || (typed().trim() !== '' && read(typed()) === null) ? 'true' : undefined}
          aria-describedby={describedBy(id, props)}
        />
        <Show when={props.unit}>
          <span class="input-suffix">{props.unit}</span>
        </Show>
      </div>
    </FieldFrame>
  );
}

const read = (text: string): number | null => {
  const trimmed = text.trim();
  return trimmed === '' || !Number.isFinite(Number(trimmed)) ? null : Number(trimmed);
};
