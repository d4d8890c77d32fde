import * as Listbox from '@kobalte/core/listbox';
import { type ComponentProps, Show } from 'solid-js';
import { Icon } from '#ui/src/components/icon.tsx';

export interface Option<V extends string = string> {
  readonly value: V;
  readonly label: string;
  readonly hint?: string | undefined;
  readonly disabled?: boolean | undefined;
}

/** One line of an open list. */
export function OptionItem(props: { item: ComponentProps<typeof Listbox.Item>['item'] & { readonly rawValue: Option } }) {
  return (
    <Listbox.Item item={props.item} class="option">
      <Listbox.ItemLabel class="lines">
        {props.item.rawValue.label}
        <Show when={props.item.rawValue.hint}>
          <span class="option-hint">{props.item.rawValue.hint}</span>
        </Show>
      </Listbox.ItemLabel>
      <Listbox.ItemIndicator class="option-mark">
        <Icon name="check" size={14} />
      </Listbox.ItemIndicator>
    </Listbox.Item>
  );
}
