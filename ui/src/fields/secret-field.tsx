import { Show } from 'solid-js';
import { type SecretRef } from '#core/contract/fields.ts';
import { REFERENCE_FORMS } from '#core/lib/text/secret-reference.ts';
import { isReference } from '#core/lib/sealed-values.ts';
import { Checkbox } from '#ui/src/components/form/choice.tsx';
import { FormField, type FormFieldProps } from './form-field.tsx';
import { fieldOf } from './kind.ts';
import { type FieldWords, TextArea, TextField } from '#ui/src/components/form/field.tsx';

type Secret = string | SecretRef | null | undefined;

interface SecretFieldProps extends FieldWords {
  value: unknown;
  /** An empty secret is null, which leaves a stored one unchanged. */
  onChange: (value: Exclude<Secret, undefined>) => void;
  placeholder?: string | undefined;
  /** PEM: several lines. */
  lines?: boolean;
  /** The secret is shown while it is entered. */
  visible?: boolean;
}

/** A secret, or its reference. */
export function SecretField(props: SecretFieldProps) {
  const reference = () => (isReference(props.value) ? props.value : undefined);
  const text = () => (typeof props.value === 'string' ? props.value : '');
  const enter = (value: string) => props.onChange(value === '' ? null : value);
  return (
    <div class="stack" data-gap="2">
      <Show
        when={reference()}
        fallback={
          <Show
            when={props.lines}
            fallback={
              <TextField
                {...props}
                value={text()}
                onInput={enter}
                type={props.visible ? 'text' : 'password'}
                mono={props.visible === true}
                autocomplete="new-password"
              />
            }
          >
            <TextArea {...props} value={text()} onInput={enter} rows={3} mono />
          </Show>
        }
      >
        {(now) => (
          <TextField
            {...props}
            hint={`Where Sluice reads the secret: ${REFERENCE_FORMS}. An administrator allows references under Settings, Security.`}
            placeholder="file:/run/secrets/shop"
            value={now().ref}
            onInput={(ref) => props.onChange({ ref })}
            mono
            required
          />
        )}
      </Show>
      <ByReference
        label={props.label}
        checked={reference() !== undefined}
        onChange={(on) => props.onChange(on ? { ref: '' } : null)}
      />
    </div>
  );
}

/** A field of a secret, rendered from its schema in the contract. */
export function SecretFormField(
  props: FormFieldProps & { /** The secret is stored here, so that it is not shown. */ stored?: boolean | undefined },
) {
  // The name of a mounted field does not change.
  // oxlint-disable-next-line solid/reactivity
  const { kind, marks } = fieldOf(props.form.schema, props.name);
  const hint = () => {
    if (props.stored === undefined) return props.hint;
    return props.hint ?? (props.stored ? 'A secret is stored. Leave empty to keep it.' : 'No secret is stored.');
  };
  return (
    <FormField
      {...props}
      hint={hint()}
      draw={(words) => (
        <SecretField
          {...words}
          value={props.form.value(props.name)}
          onChange={(value) => props.form.set(props.name, value)}
          lines={marks.control === 'code'}
          placeholder={props.placeholder ?? marks.placeholder}
          required={props.required ?? !kind.nullable}
        />
      )}
    />
  );
}

export function ByReference(props: { label: string; checked: boolean; onChange: (checked: boolean) => void }) {
  return <Checkbox label="Use a reference" of={props.label} checked={props.checked} onChange={props.onChange} />;
}
