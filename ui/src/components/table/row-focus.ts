import { type Accessor, createComputed, createEffect, createSignal, on } from 'solid-js';

interface RowFocusOptions<T> {
  readonly rows: Accessor<readonly T[]>;
  readonly key: (row: T) => string;
  readonly scroller: Accessor<HTMLElement | undefined>;
}

const PARTS = 'a, button, input, [tabindex]';

/** The row with the tab stop; keeps the focus on its row when newer rows are inserted above. */
export function createRowFocus<T>({ rows, key, scroller }: RowFocusOptions<T>) {
  const [active, setActive] = createSignal(0);
  /** `part`: index of the focused link or button in the row; -1 is the row. */
  let focused: { readonly key: string; readonly index: number; readonly part: number } | undefined;
  let is_here = false;
  const find = (index: number, part: number): HTMLElement | null | undefined => {
    const row = scroller()?.querySelector<HTMLElement>(`tr[data-row="${index}"]`);
    const inner = part < 0 ? undefined : row?.querySelectorAll<HTMLElement>(PARTS)[part];
    return inner ?? (row?.hasAttribute('tabindex') ? row : row?.querySelector<HTMLElement>('a, button'));
  };
  // Before rendering: afterwards a removed row no longer has the focus.
  createComputed(on(rows, () => (is_here = scroller()?.contains(document.activeElement) === true)));
  createEffect(
    on(rows, (now, before) => {
      if (focused === undefined || before === undefined) return;
      const { key: own, index, part } = focused;
      const place = now.findIndex((row) => key(row) === own);
      const is_gone = place === -1;
      if (!is_gone && place !== index) {
        focused = { key: own, index: place, part };
        if (active() === index) setActive(place);
      }
      // A row that was deleted from a dialog had the focus before the dialog.
      if (!is_here && !(is_gone && now.length < before.length)) return;
      queueMicrotask(() => {
        if (document.activeElement !== document.body || now.length === 0) return;
        if (is_gone) find(Math.min(index, now.length - 1), -1)?.focus();
        else find(place, part)?.focus();
      });
    }),
  );
  return {
    active,
    setActive,
    /** The focus entered a row. */
    note(event: FocusEvent & { readonly currentTarget: HTMLElement }, index: number, row: T) {
      const parts = [...event.currentTarget.querySelectorAll(PARTS)];
      focused = { key: key(row), index, part: parts.findIndex((part) => part === event.target) };
      setActive(index);
    },
  };
}
