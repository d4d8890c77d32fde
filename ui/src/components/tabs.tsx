import * as Kobalte from '@kobalte/core/tabs';
import { For, type JSX, Show } from 'solid-js';

export interface Tab<V extends string> {
  readonly value: V;
  readonly label: string;
  readonly count?: number | undefined;
  readonly panel: () => JSX.Element;
}

/** Parts of one thing, one at a time; a part is made when it is first looked at. */
export function Tabs<V extends string>(props: {
  label: string;
  value: V;
  onChange: (value: V) => void;
  tabs: readonly Tab<V>[];
}) {
  const choose = (value: string) => {
    const tab = props.tabs.find((candidate) => candidate.value === value);
    if (tab !== undefined) props.onChange(tab.value);
  };
  return (
    <Kobalte.Root class="tabs-root" value={props.value} onChange={choose}>
      <Kobalte.List class="tab-list" aria-label={props.label}>
        <For each={props.tabs}>
          {(tab) => (
            <Kobalte.Trigger class="tab" value={tab.value}>
              {tab.label}
              <Show when={tab.count !== undefined}>
                <span class="tab-count num">{tab.count}</span>
              </Show>
            </Kobalte.Trigger>
          )}
        </For>
      </Kobalte.List>
      <For each={props.tabs}>
        {(tab) => (
          <Kobalte.Content class="tab-panel" value={tab.value}>
            {tab.panel()}
          </Kobalte.Content>
        )}
      </For>
    </Kobalte.Root>
  );
}
