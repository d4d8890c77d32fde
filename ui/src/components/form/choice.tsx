import { createRenderEffect, createUniqueId, For, type JSX, Show } from 'solid-js';
import { describedBy, FieldNotes } from './field.tsx';
import { Fieldset } from './fieldset.tsx';
import { Icon, type IconName } from '#ui/src/components/icon.tsx';

interface OnOff {
  label: string;
  /** Name of the switched item, added to the label for screen readers where several switches share a label. */
  of?: string | undefined;
  checked: boolean;
  onChange: (checked: boolean) => void;
  hint?: JSX.Element;
  error?: string | undefined;
  name?: string | undefined;
  blocked?: boolean | undefined;
  hide_label?: boolean | undefined;
}

/** A switch that takes effect at once. */
export function Switch(props: OnOff) {
  return <OnOffField {...props} kind="switch" />;
}

/** Checked or not; `indeterminate`: some of the items that it stands for are checked. */
export function Checkbox(props: OnOff & { indeterminate?: boolean }) {
  return <OnOffField {...props} kind="checkbox" />;
}

function OnOffField(props: OnOff & { kind: 'switch' | 'checkbox'; indeterminate?: boolean }) {
  const id = createUniqueId();
  return (
    <div class="stack on-off" data-gap="1">
      <label class={props.kind === 'switch' ? 'switch' : 'check'} data-blocked={props.blocked ? 'true' : undefined}>
        <input
          id={id}
          type="checkbox"
          role={props.kind === 'switch' ? 'switch' : undefined}
          name={props.name}
          checked={props.checked}
          aria-invalid={props.error ? 'true' : undefined}
          ref={(input) => createRenderEffect(() => (input.indeterminate = props.indeterminate === true))}
          disabled={props.blocked === true}
          aria-describedby={describedBy(id, props)}
          onChange={(event) => {
            const { checked } = event.currentTarget;
            // The caller controls the value and may refuse the change.
            event.currentTarget.checked = props.checked;
            props.onChange(checked);
          }}
        />
        <span classList={{ 'visually-hidden': props.hide_label === true }}>{props.label}</span>
        <Show when={props.of}>{(of) => <span class="visually-hidden"> ({of()})</span>}</Show>
      </label>
      <FieldNotes id={id} hint={props.hint} error={props.error} />
    </div>
  );
}

interface Choice<V extends string> {
  readonly value: V;
  readonly label: string;
  readonly hint?: JSX.Element;
  readonly icon?: IconName;
  readonly disabled?: boolean;
}

/** Resets the DOM to the controlled value: the caller may refuse the change or ask first. */
function resetChecked(pressed: HTMLInputElement, value: string | undefined): void {
  for (const radio of pressed.closest('fieldset')?.querySelectorAll<HTMLInputElement>('input[type=radio]') ?? [])
    if (radio.name === pressed.name) radio.checked = radio.value === value;
}

/** A few options, each with a description. */
export function RadioCards<V extends string>(props: {
  label: string;
  value: V | undefined;
  onChange: (value: V) => void;
  options: readonly Choice<V>[];
  columns?: 1 | 2 | 3;
  hint?: JSX.Element;
  error?: string | undefined;
  hide_label?: boolean;
}) {
  const id = createUniqueId();
  return (
    <Fieldset label={props.label} hide_label={props.hide_label} hint={props.hint} error={props.error}>
      <div class="stack radio-cards" data-gap="2" data-columns={props.columns ?? 1}>
        <For each={props.options}>
          {(option) => (
            <label class="radio-card" data-blocked={option.disabled ? 'true' : undefined}>
              <input
                type="radio"
                name={id}
                value={option.value}
                checked={props.value === option.value}
                disabled={option.disabled === true}
                onChange={({ currentTarget }) => {
                  resetChecked(currentTarget, props.value);
                  props.onChange(option.value);
                }}
              />
              <Show when={option.icon}>{(icon) => <Icon name={icon()} />}</Show>
              <span class="lines">
                <span class="radio-label">{option.label}</span>
                <Show when={option.hint}>
                  <span class="option-hint">{option.hint}</span>
                </Show>
              </span>
            </label>
          )}
        </For>
      </div>
    </Fieldset>
  );
}

/** A few short options, one of them selected. */
export function SegmentedControl<V extends string>(props: {
  label: string;
  value: V;
  onChange: (value: V) => void;
  options: readonly { readonly value: V; readonly label: string; readonly icon?: IconName }[];
}) {
  const id = createUniqueId();
  return (
    <fieldset class="segments">
      <legend class="visually-hidden">{props.label}</legend>
      <For each={props.options}>
        {(option) => (
          <label class="segment">
            <input
              type="radio"
              class="visually-hidden"
              name={id}
              value={option.value}
              checked={props.value === option.value}
              onChange={({ currentTarget }) => {
                resetChecked(currentTarget, props.value);
                props.onChange(option.value);
              }}
            />
            <Show when={option.icon}>{(icon) => <Icon name={icon()} size={14} />}</Show>
            {option.label}
          </label>
        )}
      </For>
    </fieldset>
  );
}
