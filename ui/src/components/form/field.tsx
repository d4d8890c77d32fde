import { createSignal, createUniqueId, type JSX, Show } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { Icon } from '#ui/src/components/icon.tsx';

/** Props of every field. */
export interface FieldWords {
  label: string;
  name?: string | undefined;
  hint?: JSX.Element;
  error?: string | undefined;
  required?: boolean | undefined;
  /** Adds "optional" to the label. */
  optional?: boolean | undefined;
  /** Visible but not editable. */
  blocked?: boolean | undefined;
  /** For screen readers only: sighted people see from the layout what the field is. */
  hide_label?: boolean | undefined;
}

/** Ids of the hint and the error of a field, for `aria-describedby`. */
export const describedBy = (id: string, props: Pick<FieldWords, 'hint' | 'error'>): string | undefined =>
  [props.hint && `${id}-hint`, props.error && `${id}-error`].filter(Boolean).join(' ') || undefined;

/** Label above, hint and error below. */
export function FieldFrame(props: FieldWords & { id: string; label_id?: string; plain_label?: boolean; children: JSX.Element }) {
  const words = () => (
    <>
      {props.label}
      <Show when={props.optional}>
        <span class="optional"> optional</span>
      </Show>
    </>
  );
  return (
    <div class="field" data-invalid={props.error ? 'true' : undefined}>
      <Show
        when={!props.plain_label}
        fallback={
          <span class="field-label" classList={{ 'visually-hidden': props.hide_label === true }} id={props.label_id}>
            {words()}
          </span>
        }
      >
        <label
          class="field-label"
          classList={{ 'visually-hidden': props.hide_label === true }}
          for={props.id}
          id={props.label_id}
        >
          {words()}
        </label>
      </Show>
      {props.children}
      <FieldNotes id={props.id} hint={props.hint} error={props.error} />
    </div>
  );
}

export function FieldNotes(props: { id: string; hint?: JSX.Element; error?: string | undefined }) {
  return (
    <>
      <Show when={props.hint}>
        <p class="field-hint" id={`${props.id}-hint`}>
          {props.hint}
        </p>
      </Show>
      <Show when={props.error}>
        <p class="field-error" id={`${props.id}-error`}>
          <Icon name="alert" />
          {props.error}
        </p>
      </Show>
    </>
  );
}

interface TextFieldProps extends FieldWords {
  value: string;
  onInput: (value: string) => void;
  type?: 'text' | 'password' | 'search' | 'url' | 'email' | 'date' | 'time' | 'datetime-local';
  placeholder?: string | undefined;
  mono?: boolean;
  autocomplete?: string;
  autofocus?: boolean;
  inputmode?: 'numeric' | 'decimal' | 'url' | 'email';
  list?: string;
  ref?: (input: HTMLInputElement) => void;
  onBlur?: () => void;
  onKeyDown?: (event: KeyboardEvent) => void;
}

/** A labelled text field whose hint and error are announced. */
export function TextField(props: TextFieldProps) {
  const id = createUniqueId();
  const [shown, setShown] = createSignal(false);
  const type = () => (props.type === 'password' && shown() ? 'text' : (props.type ?? 'text'));

  return (
    <FieldFrame {...props} id={id}>
      <div classList={{ 'with-end': props.type === 'password' }}>
        <input
          ref={(input) => {
            props.ref?.(input);
            if (props.autofocus) queueMicrotask(() => input.focus());
          }}
          id={id}
          data-autofocus={props.autofocus ? '' : undefined}
          class="input"
          classList={{ mono: props.mono === true }}
          name={props.name}
          type={type()}
          value={props.value}
          onInput={(event) => props.onInput(event.currentTarget.value)}
          onBlur={() => props.onBlur?.()}
          onKeyDown={(event) => props.onKeyDown?.(event)}
          placeholder={props.placeholder}
          list={props.list}
          autocomplete={props.autocomplete ?? 'off'}
          inputmode={props.inputmode}
          autocapitalize="none"
          spellcheck={false}
          readOnly={props.blocked}
          aria-required={props.required ? 'true' : undefined}
          aria-invalid={props.error ? 'true' : undefined}
          aria-describedby={describedBy(id, props)}
        />
        <Show when={props.type === 'password'}>
          <Button
            kind="quiet"
            size="small"
            aria-pressed={shown()}
            aria-label={`${shown() ? 'Hide' : 'Show'} ${props.label.toLowerCase()}`}
            onPress={() => setShown(!shown())}
          >
            {shown() ? 'Hide' : 'Show'}
          </Button>
        </Show>
      </div>
    </FieldFrame>
  );
}

export function TextArea(
  props: FieldWords & {
    value: string;
    onInput: (value: string) => void;
    rows?: number;
    mono?: boolean;
    placeholder?: string | undefined;
    autofocus?: boolean;
  },
) {
  const id = createUniqueId();
  return (
    <FieldFrame {...props} id={id}>
      <textarea
        ref={(area) => {
          if (props.autofocus) queueMicrotask(() => area.focus());
        }}
        id={id}
        data-autofocus={props.autofocus ? '' : undefined}
        class="input area"
        classList={{ mono: props.mono === true }}
        name={props.name}
        rows={props.rows ?? 4}
        value={props.value}
        onInput={(event) => props.onInput(event.currentTarget.value)}
        placeholder={props.placeholder}
        spellcheck={props.mono !== true}
        readOnly={props.blocked}
        aria-required={props.required ? 'true' : undefined}
        aria-invalid={props.error ? 'true' : undefined}
        aria-describedby={describedBy(id, props)}
      />
    </FieldFrame>
  );
}
