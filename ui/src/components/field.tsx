import { createSignal, createUniqueId, Show } from 'solid-js';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';

interface FieldProps {
  label: string;
  name: string;
  value: string;
  onInput: (value: string) => void;
  error?: string | undefined;
  hint?: string;
  autocomplete?: string;
  autofocus?: boolean;
  inputmode?: 'numeric';
}

/** A labelled text field whose hint and fault are announced with it. */
export function Field(props: FieldProps & { type?: 'text' | 'password' }) {
  const id = createUniqueId();
  const [shown, setShown] = createSignal(false);
  const described = () => [props.hint && `${id}-hint`, props.error && `${id}-error`].filter(Boolean).join(' ') || undefined;

  return (
    <div class="field">
      <label for={id}>{props.label}</label>
      <div classList={{ 'with-end': props.type === 'password' }}>
        <input
          ref={(input) => {
            if (props.autofocus) queueMicrotask(() => input.focus());
          }}
          id={id}
          class="input"
          name={props.name}
          type={props.type === 'password' && !shown() ? 'password' : 'text'}
          value={props.value}
          onInput={(event) => props.onInput(event.currentTarget.value)}
          autocomplete={props.autocomplete}
          inputmode={props.inputmode}
          autocapitalize="none"
          spellcheck={false}
          aria-invalid={props.error ? 'true' : undefined}
          aria-describedby={described()}
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
      <Show when={props.hint}>
        <p class="field-hint" id={`${id}-hint`}>
          {props.hint}
        </p>
      </Show>
      <Show when={props.error}>
        <p class="field-error" id={`${id}-error`}>
          <Icon name="alert" />
          {props.error}
        </p>
      </Show>
    </div>
  );
}
