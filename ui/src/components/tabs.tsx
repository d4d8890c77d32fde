import * as Kobalte from '@kobalte/core/tabs';
import { For, type JSX, Show, untrack } from 'solid-js';

interface Tab<V extends string> {
  readonly value: V;
  readonly label: string;
  readonly count?: number | undefined;
  readonly panel: () => JSX.Element;
}

/**
 * Parts of one thing, one at a time; a part is made when it is first looked at, and stays while its tab has the same `value`, however
 * often the words of the tabs change.
 */
export function Tabs<V extends string>(props: {
  label: string;
  value: V;
  onChange: (value: V) => void;
  tabs: readonly Tab<V>[];
}) {
  const values = () => props.tabs.map(({ value }) => value);
  const tabOf = (value: string) => props.tabs.find((tab) => tab.value === value);
  const choose = (value: string) => {
    const tab = tabOf(value);
    if (tab !== undefined) props.onChange(tab.value);
  };
  return (
    <Kobalte.Root class="tabs-root" value={props.value} onChange={choose}>
      <Kobalte.List class="tab-list" aria-label={props.label}>
        <For each={values()}>
          {(value) => (
            <Kobalte.Trigger class="tab" value={value}>
              {tabOf(value)?.label}
              <Show when={tabOf(value)?.count !== undefined}>
                <span class="tab-count num">{tabOf(value)?.count}</span>
              </Show>
            </Kobalte.Trigger>
          )}
        </For>
      </Kobalte.List>
      <For each={values()}>
        {(value) => (
          <Kobalte.Content class="tab-panel" value={value}>
            {untrack(() => tabOf(value)?.panel())}
          </Kobalte.Content>
        )}
      </For>
    </Kobalte.Root>
  );
}
