import { onCleanup } from 'solid-js';

const REACHED = ['a[href]', 'button', 'input', 'select', 'textarea', '[tabindex]']
  .map((part) => `${part}:not([disabled])`)
  .join();

const reachedIn = (element: Element): HTMLElement[] =>
  [...(element.matches(REACHED) ? [element] : []), ...element.querySelectorAll(REACHED)].filter(
    (found): found is HTMLElement => found instanceof HTMLElement && found.closest('[hidden]') === null,
  );

/**
 * The `ref` of a removable row. If the row is removed while it has the focus, the same button of the next row gets the focus, otherwise
 * the control nearest to the list, such as its "Add" button.
 */
export function passesFocus(row: HTMLElement): void {
  onCleanup(() => {
    const focused = document.activeElement;
    if (focused === null || !row.contains(focused)) return;
    const from_end = reachedIn(row).findLastIndex((part) => part === focused) - reachedIn(row).length;
    const places = placesOf(row);
    queueMicrotask(() => {
      if (document.activeElement !== document.body) return;
      for (const { parent, index } of places.filter((one) => one.parent.isConnected)) {
        const others = [...parent.children];
        const next = [...others.slice(index), ...others.slice(0, index).toReversed()]
          .map(reachedIn)
          .find(({ length }) => length > 0);
        if (next === undefined) continue;
        const is_row = parent === places[0]?.parent;
        (is_row ? (next.at(from_end) ?? next[0]) : next[0])?.focus();
        return;
      }
    });
  });
}

/** The index of an element in each of its ancestors, up to the page or dialog. */
function placesOf(row: Element): { parent: Element; index: number }[] {
  const places = [];
  let child = row;
  for (let parent = row.parentElement; parent !== null && !parent.matches('main, [role=dialog]'); parent = parent.parentElement) {
    places.push({ parent, index: [...parent.children].indexOf(child) });
    child = parent;
  }
  return places;
}
