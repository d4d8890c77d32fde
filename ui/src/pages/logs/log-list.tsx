import { createVirtualizer } from '@tanstack/solid-virtual';
import { createEffect, createSignal, For, on, Show } from 'solid-js';
import type { Entry, Line } from '#ui/src/kernel/live-log.ts';
import { nextRow } from '#ui/src/kernel/table.ts';
import { SOURCE_WORDS, WORDS } from './words.ts';

const LINE_PX = 30;
/** So far from the end still counts as at the end. */
const NEAR_PX = 2 * LINE_PX;
const TIME = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
});

/** Lines of one height, of which only those in sight are in the page. Scrolling up ends following, scrolling down begins it again. */
export function LogList(props: {
  entries: readonly Entry[];
  follow: boolean;
  onFollow: (follow: boolean) => void;
  onOpen: (line: Line) => void;
}) {
  const [scroller, setScroller] = createSignal<HTMLDivElement>();
  const [active, setActive] = createSignal<string>();
  const virtualizer = createVirtualizer({
    get count() {
      return props.entries.length;
    },
    getScrollElement: () => scroller() ?? null,
    estimateSize: () => LINE_PX,
    getItemKey: (index) => props.entries[index]?.id ?? index,
    overscan: 20,
  });
  const toEnd = () => {
    const element = scroller();
    if (element !== undefined) element.scrollTop = element.scrollHeight;
  };
  createEffect(
    on([() => props.entries, () => props.follow, scroller], ([, follow]) => {
      // After the taller list is in the page.
      if (follow) requestAnimationFrame(toEnd);
    }),
  );
  let last_top = 0;
  const scrolled = () => {
    const element = scroller();
    if (element === undefined) return;
    const { scrollTop, scrollHeight, clientHeight } = element;
    const up = scrollTop < last_top;
    last_top = scrollTop;
    const at_end = scrollHeight - scrollTop - clientHeight < NEAR_PX;
    if (props.follow && up && !at_end) props.onFollow(false);
  };
  const at = () => {
    const index = props.entries.findIndex(({ id }) => id === active());
    return index < 0 ? props.entries.length - 1 : index;
  };
  const move = (event: KeyboardEvent) => {
    if (event.key === 'Enter') {
      const entry = props.entries[at()];
      if (entry !== undefined && 'line' in entry) props.onOpen(entry.line);
      return;
    }
    const to = nextRow(event.key, at(), props.entries.length);
    if (to === undefined) return;
    event.preventDefault();
    props.onFollow(event.key === 'End');
    setActive(props.entries[to]?.id);
    virtualizer.scrollToIndex(to);
  };

  return (
    <div
      // In the page first: an element of a template has no window to observe it in.
      ref={(element) => queueMicrotask(() => setScroller(element))}
      class="log-list"
      role="region"
      tabindex="0"
      aria-label={WORDS.lines}
      aria-description={WORDS.lines_help}
      onScroll={scrolled}
      onKeyDown={move}
    >
      <ol style={{ height: `${virtualizer.getTotalSize()}px` }}>
        <For each={virtualizer.getVirtualItems()}>
          {(item) => (
            <Show when={props.entries[item.index]} keyed>
              {(entry) => (
                <li
                  class="log-line"
                  data-active={entry.id === active() ? 'true' : undefined}
                  style={{ transform: `translateY(${item.start}px)` }}
                  onClick={() => {
                    setActive(entry.id);
                    if ('line' in entry && window.getSelection()?.toString() === '') props.onOpen(entry.line);
                  }}
                >
                  {'line' in entry ? <OneLine line={entry.line} /> : <span class="log-lost">{WORDS.dropped(entry.dropped)}</span>}
                </li>
              )}
            </Show>
          )}
        </For>
      </ol>
    </div>
  );
}

function OneLine(props: { line: Line }) {
  const fields = () => Object.entries(props.line.fields ?? {});
  return (
    <>
      <time datetime={props.line.timestamp}>{TIME.format(Date.parse(props.line.timestamp))}</time>
      <span class="log-level" data-level={props.line.level}>
        {props.line.level}
      </span>
      <span class="log-source">{SOURCE_WORDS[props.line.source]}</span>
      <span class="log-message">{props.line.message}</span>
      <span class="log-fields">
        <For each={fields()}>
          {([name, value]) => (
            <span>
              {name}=<b>{String(value)}</b>
            </span>
          )}
        </For>
      </span>
    </>
  );
}
