import { type Accessor, batch, createEffect, createMemo, createSignal, onCleanup, onMount, Show } from 'solid-js';

interface RowWindowOptions {
  readonly count: Accessor<number>;
  /** Height of every row, unless the style of the scroller sets `--row-px`. */
  readonly row_px: number;
  /** Rows rendered above and below the visible ones. */
  readonly around: number;
  /** For rows that are slow to render: if most visible rows are new, the rows around them are rendered in a separate task. */
  readonly rows?: Accessor<readonly unknown[]>;
}

/** With more new visible rows than this, the rows around them are rendered later. */
const AT_ONCE = 8;

/** Virtual scrolling: all rows have the same height, and only the visible ones are rendered. */
export function createRowWindow(options: RowWindowOptions) {
  const { count, around } = options;
  const [scroller, setScroller] = createSignal<HTMLElement>();
  const [top, setTop] = createSignal(0);
  const [height, setHeight] = createSignal(0);
  const [left, setLeft] = createSignal(0);
  const [width, setWidth] = createSignal(0);
  const [rowPx, setRowPx] = createSignal(options.row_px);
  const [rest, setRest] = createSignal(undefined, { equals: false });
  let timer: number | undefined;
  let drawn: ReadonlySet<unknown> = new Set();
  const around_now = createMemo(() => {
    rest();
    const rows = options.rows?.();
    if (rows === undefined) return around;
    const from = Math.floor(top() / rowPx());
    const to = Math.ceil((top() + height()) / rowPx());
    const in_sight = rows.slice(from, to);
    const is_new = in_sight.filter((row) => !drawn.has(row)).length > AT_ONCE;
    drawn = new Set(is_new ? in_sight : rows.slice(Math.max(0, from - around), to + around));
    window.clearTimeout(timer);
    if (is_new) timer = window.setTimeout(setRest);
    return is_new ? 0 : around;
  });
  onCleanup(() => window.clearTimeout(timer));
  const first = createMemo(() => Math.max(0, Math.min(count(), Math.floor(top() / rowPx())) - around_now()));
  const last = createMemo(() => Math.min(count(), Math.ceil((top() + height()) / rowPx()) + around_now()));
  const indices = createMemo(() => {
    const from = first();
    return Array.from({ length: Math.max(0, last() - from) }, (_, index) => from + index);
  });
  /** A sticky header covers this height. */
  const headHeight = () => scroller()?.querySelector('thead')?.offsetHeight ?? 0;
  const read = () => {
    // All measurements come before any rendering, which avoids a forced layout in between.
    const { scrollTop = 0, clientHeight = 0, scrollLeft = 0, clientWidth = 0 } = scroller() ?? {};
    batch(() => {
      setTop(scrollTop);
      setHeight(clientHeight);
      setLeft(scrollLeft);
      setWidth(clientWidth);
    });
  };
  createEffect(() => {
    const element = scroller();
    if (element === undefined) return;
    const sizes = new ResizeObserver(() => {
      setRowPx(Number(getComputedStyle(element).getPropertyValue('--row-px')) || options.row_px);
      read();
    });
    sizes.observe(element);
    element.addEventListener('scroll', read, { passive: true });
    onCleanup(() => {
      sizes.disconnect();
      element.removeEventListener('scroll', read);
    });
  });
  return {
    /** The `ref` of the scrolling element. */
    // The element has no size before it is mounted.
    ref: (element: HTMLElement) => onMount(() => setScroller(element)),
    scroller,
    height,
    left,
    width,
    indices,
    before: () => first() * rowPx(),
    after: () => (count() - first() - indices().length) * rowPx(),
    /** Scrolls as little as needed to show a row. */
    reveal(index: number) {
      const element = scroller();
      if (element === undefined) return;
      const start = index * rowPx();
      const end = start + rowPx() + headHeight();
      if (start < element.scrollTop) element.scrollTop = start;
      else if (end > element.scrollTop + element.clientHeight) element.scrollTop = end - element.clientHeight;
      read();
    },
    /** Scrolls sideways as little as needed to show a range within a row. */
    revealAcross(start: number, end: number) {
      const element = scroller();
      if (element === undefined) return;
      if (start < element.scrollLeft) element.scrollLeft = start;
      else if (end > element.scrollLeft + element.clientWidth) element.scrollLeft = end - element.clientWidth;
      read();
    },
  };
}

/** Fills the height of the rows that are not rendered. */
export function SpacerRow(props: { height: number; columns: number }) {
  return (
    <Show when={props.height > 0}>
      <tr aria-hidden="true">
        <td colspan={props.columns} class="spacer" style={{ height: `${props.height}px` }} />
      </tr>
    </Show>
  );
}
