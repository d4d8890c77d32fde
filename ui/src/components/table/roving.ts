import { createEffect } from 'solid-js';

const STEP: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity };

/**
 * A long list of buttons that is one stop of the Tab key: arrows, Home and End move between them.
 * @param selector what matches each button.
 * @param shown what the list is drawn from: one that is gone gives its place to the current or the first.
 * @returns attributes of the element around the list.
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
