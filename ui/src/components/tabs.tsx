import * as Kobalte from '@kobalte/core/tabs';
import { createEffect, For, type JSX, on, onMount, Show, untrack } from 'solid-js';
import { num } from '#ui/src/kernel/numbers.ts';

interface Tab<V extends string> {
  readonly value: V;
  readonly label: string;
  readonly count?: number | undefined;
  readonly panel: () => JSX.Element;
}

/** The tab that was chosen on a page that the same tabs followed: the focus stays on it. */
let left: string | undefined;

const chosenIn = (list: HTMLElement | undefined) => list?.querySelector<HTMLElement>('[role=tab][aria-selected=true]');

/**
 * Parts of one thing, one at a time; a part is made when it is first looked at, and stays while its tab has the same `value`, however
 * often the words of the tabs change.
 */
export function Tabs<V extends string>(props: {
  label: string;
  value: V;
  onChange: (value: V) => void;
  tabs: readonly Tab<V>[];
  /** Each tab is a page, or is left only when it may be: arrow keys move along the tabs, Enter and Space choose. */
  navigates?: boolean;
}) {
  const values = () => props.tabs.map(({ value }) => value);
  const tabOf = (value: string) => props.tabs.find((tab) => tab.value === value);
  const choose = (value: string) => {
    const tab = tabOf(value);
    if (tab === undefined) return;
    left = props.navigates ? `${props.label}/${value}` : undefined;
    props.onChange(tab.value);
  };
  let list: HTMLElement | undefined;
  onMount(() => {
    const wanted = left === `${props.label}/${props.value}`;
    left = undefined;
    // After the page has given the focus to its content.
    if (wanted) requestAnimationFrame(() => chosenIn(list)?.focus({ preventScroll: true }));
  });
  /** On a phone there are more tabs than fit beside each other. */
  const reveal = () => {
    const tab = chosenIn(list);
    if (list === undefined || tab == null) return;
    // The list alone moves: the page stays where its reader is.
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
