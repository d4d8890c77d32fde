import { createUniqueId, type JSX } from 'solid-js';
import { describedBy, FieldNotes } from './field.tsx';

/** Several controls that are one field: its fault is announced with the group and marks it for `focusInvalid`. */
export function Fieldset(props: {
  label: string;
  hide_label?: boolean | undefined;
  hint?: JSX.Element;
  error?: string | undefined;
  children: JSX.Element;
}) {
  const id = createUniqueId();
  return (
    <fieldset class="field" aria-describedby={describedBy(id, props)} data-invalid={props.error ? 'true' : undefined}>
      <legend class="field-label" classList={{ 'visually-hidden': props.hide_label === true }}>
        {props.label}
      </legend>
      {props.children}
      <FieldNotes id={id} hint={props.hint} error={props.error} />
    </fieldset>
  );
}
