import { isFound } from '#core/lib/text/search.ts';
import * as Kobalte from '@kobalte/core/combobox';
import { createMemo, createSignal, createUniqueId } from 'solid-js';
import { describedBy, FieldFrame, type FieldWords } from './field.tsx';
import { Icon } from '#ui/src/components/icon.tsx';
import { type Option, OptionItem } from './option.tsx';
import type { SearchParams } from '#ui/src/kernel/route/search-params.ts';

interface ComboboxProps extends FieldWords {
  options: readonly Option[];
  value: string | undefined;
  onChange: (value: string | undefined) => void;
  placeholder?: string;
  /** Text that matches no option is a value too. */
  free?: boolean;
  size?: 'small' | undefined;
}

/** A long list of options, filtered by typing. */
export function Combobox(props: ComboboxProps) {
  const id = createUniqueId();
  const label_id = `${id}-label`;
  const [typed, setTyped] = createSignal('');
  // Memoized per list: a new object for the selected option resets the typed text.
  const given = createMemo(() => props.options);
  const options = createMemo<Option[]>(() => {
    const text = typed().trim();
    const known = given().some(({ value, label }) => value === text || label === text);
    const extra = props.value !== undefined && !given().some(({ value }) => value === props.value) ? [props.value] : [];
    const entry = props.free === true && text !== '' && !known && text !== props.value ? [text] : [];
    return [...[...entry, ...(props.free === true ? extra : [])].map((value) => ({ value, label: value })), ...given()];
  });
  const fits = (option: Option, text: string): boolean => isFound(text, option.label);
  /** Enter without an active option selects the first match of the typed text. */
  const chooseFirst = (event: KeyboardEvent & { readonly currentTarget: HTMLInputElement }) => {
    const text = typed().trim();
    if (text === '' || text === chosen()?.label || event.currentTarget.hasAttribute('aria-activedescendant')) return;
    const found = options().find((option) => option.disabled !== true && fits(option, text));
    if (found === undefined) return;
    event.preventDefault();
    props.onChange(found.value);
  };
  const chosen = createMemo(() => options().find(({ value }) => value === props.value) ?? null);
  return (
    <FieldFrame {...props} id={id} label_id={label_id}>
      <Kobalte.Root<Option>
        options={options()}
        optionValue="value"
        optionTextValue="label"
        optionLabel="label"
        optionDisabled="disabled"
        defaultFilter={fits}
        triggerMode="focus"
        allowsEmptyCollection
        value={chosen()}
        onChange={(option) => props.onChange(option?.value)}
        onInputChange={setTyped}
        gutter={4}
        sameWidth
        fitViewport
        placeholder={props.placeholder ?? 'Type to search'}
        disabled={props.blocked === true}
        validationState={props.error ? 'invalid' : 'valid'}
        itemComponent={OptionItem}
      >
        <Kobalte.Control class="combobox" data-size={props.size}>
          <Kobalte.Input
            id={id}
            class="input"
            name={props.name}
            aria-labelledby={label_id}
            aria-invalid={props.error ? 'true' : undefined}
            aria-describedby={describedBy(id, props)}
            autocapitalize="none"
            onKeyDown={(event) => {
              if (event.key === 'Enter') chooseFirst(event);
            }}
          />
          <Kobalte.Trigger class="combobox-trigger" aria-label={`Show ${props.label}`} tabIndex={-1}>
            <Icon name="down" size={14} />
          </Kobalte.Trigger>
        </Kobalte.Control>
        <Kobalte.Portal>
          <Kobalte.Content class="floating">
            <Kobalte.Listbox class="options" />
          </Kobalte.Content>
        </Kobalte.Portal>
      </Kobalte.Root>
    </FieldFrame>
  );
}

/** A query parameter of the address as a combobox; `all` is the text of an empty value, by default the label. */
export function FilterCombobox<P>(props: {
  of: SearchParams<P>;
  name: keyof P & string;
  label: string;
  all?: string;
  free?: boolean;
  options: readonly Option[];
  size?: 'small';
}) {
  return (
    <Combobox
      label={props.label}
      hide_label
      size={props.size}
      free={props.free === true}
      placeholder={props.all ?? props.label}
      options={props.options}
      value={props.of.written(props.name) || undefined}
      onChange={(value = '') => props.of.write(props.name, value)}
    />
  );
}
