import { createEffect } from 'solid-js';

const STEP: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity };

/**
 * A long list of buttons with one tab stop: arrows, Home and End move between them.
 * @param selector matches each button.
 * @param shown the data of the list. If the tab stop is removed, the current or first button becomes the tab stop.
 * @returns attributes of the list element.
 */
export function createRoving(selector: string, shown: () => unknown) {
  let list: HTMLElement | undefined;
  let last: HTMLElement | undefined;
  const items = () => [...(list?.querySelectorAll<HTMLElement>(selector) ?? [])];
  const settle = () => {
    const all = items();
    const stop = all.find((item) => item === last) ?? all.find((item) => item.ariaCurrent === 'true') ?? all[0];
    for (const item of all) item.tabIndex = item === stop ? 0 : -1;
  };
  createEffect(() => {
    shown();
    settle();
  });
  const itemOf = ({ target }: Event) => (target instanceof HTMLElement && target.matches(selector) ? target : undefined);
  return {
    ref: (element: HTMLElement) => {
      list = element;
    },
    'aria-keyshortcuts': 'ArrowDown ArrowUp Home End',
    onFocusIn: (event: FocusEvent) => {
      const item = itemOf(event);
      if (item === undefined) return;
      last = item;
      settle();
    },
    onKeyDown: (event: KeyboardEvent) => {
      const item = itemOf(event);
      const step = STEP[event.key];
      if (item === undefined || step === undefined) return;
      event.preventDefault();
      const all = items();
      all[Math.min(Math.max(all.indexOf(item) + step, 0), all.length - 1)]?.focus();
    },
  };
}
