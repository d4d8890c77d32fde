import * as Kobalte from '@kobalte/core/select';
import { createComputed, createMemo, createUniqueId, on } from 'solid-js';
import { describedBy, FieldFrame, type FieldWords } from './field.tsx';
import { Icon } from '#ui/src/components/icon.tsx';
import { type Option, OptionItem } from './option.tsx';

interface SelectProps<V extends string> extends FieldWords {
  options: readonly Option<V>[];
  value: V;
  onChange: (value: V) => void;
  placeholder?: string | undefined;
  size?: 'small' | undefined;
}

/** One of a closed list. */
export function Select<V extends string>(props: SelectProps<V>) {
  const id = createUniqueId();
  const label_id = `${id}-label`;
  const options = createMemo(() => [...props.options]);
  // Kobalte chooses the chosen option again when the options change, which would close an open list.
  let changing = false;
  createComputed(
    on(options, () => {
      changing = true;
      queueMicrotask(() => (changing = false));
    }),
  );
  const isSettled = () => !changing;
  const chosen = createMemo(() => props.options.find(({ value }) => value === props.value) ?? null);
  return (
    <FieldFrame {...props} id={id} label_id={label_id}>
      <Kobalte.Root<Option<V>>
        options={options()}
        // The empty value is a value too, and Kobalte takes an empty key for none.
        optionValue={(option) => `=${option.value}`}
        optionTextValue="label"
        optionDisabled="disabled"
        value={chosen()}
        onChange={(option) => {
          if (option !== null) props.onChange(option.value);
        }}
        disallowEmptySelection
        allowDuplicateSelectionEvents={isSettled()}
        gutter={4}
        sameWidth={false}
        fitViewport
        placeholder={props.placeholder ?? 'Choose'}
        disabled={props.blocked === true}
        validationState={props.error ? 'invalid' : 'valid'}
        itemComponent={OptionItem}
      >
        <Kobalte.Trigger
          id={id}
          class="input select"
          data-size={props.size}
          name={props.name}
          aria-labelledby={`${label_id} ${id}`}
          aria-invalid={props.error ? 'true' : undefined}
          aria-describedby={describedBy(id, props)}
        >
          <Kobalte.Value<Option<V>> class="select-value">{(state) => state.selectedOption()?.label}</Kobalte.Value>
          <Kobalte.Icon class="select-icon">
            <Icon name="down" size={14} />
          </Kobalte.Icon>
        </Kobalte.Trigger>
        <Kobalte.Portal>
          <Kobalte.Content class="floating">
            <Kobalte.Listbox class="options" />
          </Kobalte.Content>
        </Kobalte.Portal>
      </Kobalte.Root>
    </FieldFrame>
  );
}
