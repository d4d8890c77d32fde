import { createUniqueId } from 'solid-js';
import { IconButton } from '#ui/src/components/button.tsx';
import { type DateKind, fromPicker, toPicker } from './date-text.ts';
import { describedBy, FieldFrame, type FieldWords } from '#ui/src/components/form/field.tsx';

/** A date, or a date with a time: typed as text, or chosen in the picker of the browser (Alt and the down arrow). */
export function DateField(
  props: FieldWords & { kind: DateKind; value: string; onInput: (value: string) => void; placeholder?: string | undefined },
) {
  const id = createUniqueId();
  let picker: HTMLInputElement | undefined;
  const choose = () => {
    if (picker === undefined) return;
    picker.value = toPicker(props.value, props.kind, new Date());
    picker.showPicker();
  };
  return (
    <FieldFrame {...props} id={id}>
      <div class="with-end date-field">
        <input
          id={id}
          class="input mono"
          name={props.name}
          value={props.value}
          onInput={(event) => props.onInput(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (!event.altKey || event.key !== 'ArrowDown') return;
            event.preventDefault();
            choose();
          }}
          placeholder={
            props.placeholder ?? (props.kind === 'date' ? '2026-03-31, today or -7d' : '2026-03-31T08:30:00, now or -7d')
          }
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          aria-required={props.required ? 'true' : undefined}
          aria-invalid={props.error ? 'true' : undefined}
          aria-describedby={describedBy(id, props)}
        />
        <input
          ref={(input) => {
            picker = input;
          }}
          class="date-picker"
          type={props.kind === 'date' ? 'date' : 'datetime-local'}
          step={props.kind === 'date' ? undefined : 1}
          tabindex={-1}
          aria-hidden="true"
          onInput={(event) => props.onInput(fromPicker(event.currentTarget.value, props.value, props.kind))}
        />
        <IconButton icon="calendar" size="small" label={`Choose ${props.label}`} onPress={choose} />
      </div>
    </FieldFrame>
  );
}
