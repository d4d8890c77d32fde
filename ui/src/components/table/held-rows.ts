import { type Accessor, createMemo, createSignal, onCleanup } from 'solid-js';

/** Rows that stay as they are while a menu of one of them is open, because a newer row would close it. What is newer is drawn when it closes. */
export function createHeldRows<T>(
  rows: Accessor<readonly T[] | undefined>,
  table: () => Element | undefined,
): Accessor<readonly T[] | undefined> {
  const [closed, setClosed] = createSignal(undefined, { equals: false });
  const isOpen = () => table()?.querySelector('.cell-actions [aria-expanded=true]') instanceof Element;
  return createMemo<readonly T[] | undefined>((shown) => {
    closed();
    const newest = rows();
    const place = table();
    if (shown === undefined || place === undefined || !isOpen()) return newest;
    const observer = new MutationObserver(() => {
      if (!isOpen()) setClosed();
    });
    observer.observe(place, { subtree: true, attributes: true, attributeFilter: ['aria-expanded'] });
    onCleanup(() => observer.disconnect());
    return shown;
  });
}
