import { createSignal, createUniqueId, Show } from 'solid-js';
import { describedBy, FieldFrame, type FieldWords } from './field.tsx';

interface NumberFieldProps extends FieldWords {
  /** A string is the typed text that is not a number yet. */
  value: number | string | null;
  onInput: (value: number | string | null) => void;
  min?: number | undefined;
  max?: number | undefined;
  step?: number | undefined;
  /** Unit at the end of the field: `ms`, `rows`. */
  unit?: string | undefined;
  placeholder?: string | undefined;
}

/**
 * A number field that can be empty; arrow and page keys step the value. Text that is not a number stays in the form and is reported, so
 * it is never saved as empty. Not Kobalte's NumberField: it turns such text into NaN, so the form could neither hold the text nor name
 * it in the error, and it adds 5.1 kB gzip.
 */
export function NumberField(props: NumberFieldProps) {
  const id = createUniqueId();
  const [typed, setTyped] = createSignal('');
  const text = () => (read(typed()) === props.value ? typed() : String(props.value ?? ''));
  const error = () => props.error ?? (typeof props.value === 'string' ? 'Enter a number, without a unit.' : undefined);
  const take = (next: string) => {
    setTyped(next);
    props.onInput(read(next));
  };
  const step = (event: KeyboardEvent) => {
    const next = stepped(event.key, props);
    if (next === undefined || props.blocked === true) return;
    event.preventDefault();
    take(String(next));
  };
  return (
    <FieldFrame {...props} error={error()} id={id}>
      <div classList={{ 'with-end': props.unit !== undefined }}>
        <input
          id={id}
          class="input num"
          name={props.name}
          type="text"
          role="spinbutton"
          inputmode="decimal"
          autocomplete="off"
          value={text()}
          placeholder={props.placeholder}
          readOnly={props.blocked}
          aria-required={props.required ? 'true' : undefined}
          aria-invalid={error() === undefined ? undefined : 'true'}
          aria-valuenow={typeof props.value === 'number' ? props.value : undefined}
          aria-valuemin={props.min}
          aria-valuemax={props.max}
          aria-describedby={describedBy(id, { hint: props.hint, error: error() })}
          onInput={(event) => take(event.currentTarget.value)}
          onKeyDown={step}
        />
        <Show when={props.unit}>
          <span class="input-suffix">{props.unit}</span>
        </Show>
      </div>
    </FieldFrame>
  );
}

const STEPS: Readonly<Record<string, number>> = { ArrowUp: 1, ArrowDown: -1, PageUp: 10, PageDown: -10 };

/** The value after a key press; undefined when the key does not step, or there is no number to step from. */
function stepped(key: string, props: NumberFieldProps): number | undefined {
  const { value, min = -Infinity, max = Infinity, step = 1 } = props;
  const steps = STEPS[key];
  if (steps === undefined || typeof value === 'string') return undefined;
  // An empty field starts at 0, or at the limit closest to 0.
  const next = value === null ? 0 : value + steps * step;
  // Rounds 0.1 + 0.2 to 0.3.
  return Number(Math.min(Math.max(next, min), max).toPrecision(12));
}

function read(text: string): number | string | null {
  const trimmed = text.trim();
  if (trimmed === '') return null;
  return Number.isFinite(Number(trimmed)) ? Number(trimmed) : text;
}
