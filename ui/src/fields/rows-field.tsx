import { For, Index, type JSX, Show } from 'solid-js';
import { IconButton } from '#ui/src/components/button.tsx';
import { AddRow } from '#ui/src/components/form/add-row.tsx';
import { passesFocus } from '#ui/src/components/form/passes-focus.ts';
import type { Form } from '#ui/src/kernel/form/form.ts';
import { FormField } from './form-field.tsx';
import { fieldOf, rowFieldsOf } from './kind.ts';
import './rows-field.css';

/** Draws a field whose control the contract does not know. @param at the path of the row, such as `rows.0`. */
type DrawField<R, N extends string> = (row: () => R, at: `${N}.${number}`) => JSX.Element;

/** A list of records in a form: each row has the fields of its schema. */
export function RowsField<R extends object, const N extends string>(props: {
  form: Form;
  /** The path of the list. */
  name: N;
  rows: readonly R[];
  /** What a row is called in buttons, such as `issuer`. */
  noun: string;
  /** The name of a row for its buttons; empty while it has none. */
  title: (row: R) => string;
  fresh: () => R;
  most?: number;
  draw?: Readonly<Partial<Record<string, DrawField<R, N>>>>;
  /** Buttons of a row besides the one that removes it. */
  actions?: DrawField<R, N>;
  /** Shown while there are no rows. */
  empty?: JSX.Element;
  /** The fields of a row stand side by side where they fit. */
  inline?: boolean;
}) {
  // The path of a mounted list does not change.
  // oxlint-disable-next-line solid/reactivity
  const names = rowFieldsOf(props.form.schema, props.name);
  return (
    <div class="stack">
      <Show when={props.rows.length > 0} fallback={props.empty}>
        {/* oxlint-disable-next-line solid/reactivity */}
        <ul
          class="rows-field"
          aria-label={fieldOf(props.form.schema, props.name).marks.label}
          data-inline={props.inline ? 'true' : undefined}
        >
          <Index each={props.rows}>
            {(row, index) => {
              const at = `${props.name}.${index}` as const;
              return (
                <li ref={passesFocus}>
                  <For each={names}>
                    {(name) => props.draw?.[name]?.(row, at) ?? <FormField form={props.form} name={`${at}.${name}`} />}
                  </For>
                  <div class="row rows-field-actions">
                    {props.actions?.(row, at)}
                    <IconButton
                      icon="trash"
                      size="small"
                      label={`Remove ${props.title(row()) || props.noun}`}
                      onPress={() => props.form.set(props.name, props.rows.toSpliced(index, 1))}
                    />
                  </div>
                </li>
              );
            }}
          </Index>
        </ul>
      </Show>
      <AddRow
        label={`Add ${props.noun}`}
        error={props.form.error(props.name)}
        blocked={props.most !== undefined && props.rows.length >= props.most}
        onPress={() => props.form.set(props.name, [...props.rows, props.fresh()])}
      />
    </div>
  );
}
