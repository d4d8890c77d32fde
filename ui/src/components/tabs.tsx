import * as Kobalte from '@kobalte/core/tabs';
import { createEffect, For, type JSX, on, Show, untrack } from 'solid-js';
import { num } from '#ui/src/kernel/numbers.ts';

interface Tab<V extends string> {
  readonly value: V;
  readonly label: string;
  readonly count?: number | undefined;
  readonly panel: () => JSX.Element;
}

const chosenIn = (list: HTMLElement | undefined) => list?.querySelector<HTMLElement>('[role=tab][aria-selected=true]');

/**
 * Panels of which one is visible. A panel is created when it is first opened, and stays mounted while its tab keeps the same `value`,
 * even if the labels of the tabs change.
 */
export function Tabs<V extends string>(props: {
  label: string;
  value: V;
  onChange: (value: V) => void;
  tabs: readonly Tab<V>[];
  /** Switching asks first: arrow keys move along the tabs, Enter and Space select. */
  navigates?: boolean;
}) {
  const values = () => props.tabs.map(({ value }) => value);
  const tabOf = (value: string) => props.tabs.find((tab) => tab.value === value);
  const choose = (value: string) => {
    const tab = tabOf(value);
    if (tab !== undefined) props.onChange(tab.value);
  };
  let list: HTMLElement | undefined;
  /** On a phone not all tabs fit next to each other. */
  const reveal = () => {
    const tab = chosenIn(list);
    if (list === undefined || tab == null) return;
    // Scrolls only the list of tabs, not the page.
    const place = list.getBoundingClientRect();
    const shown = tab.getBoundingClientRect();
    list.scrollLeft += Math.min(0, shown.left - place.left) + Math.max(0, shown.right - place.right);
  };
  createEffect(
    on(
      () => props.value,
      () => requestAnimationFrame(reveal),
    ),
  );
  return (
    <Kobalte.Root class="stack" value={props.value} onChange={choose} activationMode={props.navigates ? 'manual' : 'automatic'}>
      <Kobalte.List
        ref={(element) => {
          list = element;
        }}
        class="tab-list"
        aria-label={props.label}
      >
        <For each={values()}>
          {(value) => (
            <Kobalte.Trigger class="tab" value={value}>
              {tabOf(value)?.label}
              <Show when={tabOf(value)?.count !== undefined}>
                <span class="tab-count num">{num(tabOf(value)?.count ?? 0)}</span>
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
