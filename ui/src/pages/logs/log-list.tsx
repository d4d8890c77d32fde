import { tenths } from '#ui/src/kernel/numbers.ts';
import { plural } from '#ui/src/kernel/words.ts';
import { createEffect, createSignal, For, on, Show } from 'solid-js';
import { exactTime, logTime } from '#ui/src/kernel/dates.ts';
import type { Entry, Line } from '#ui/src/features/log/live-log.ts';
import { createRowWindow } from '#ui/src/components/table/row-window.tsx';
import { nextRow } from '#ui/src/components/table/table.ts';
import { SOURCE_WORDS } from './words.ts';

const LINE_PX = 30;
/** So far from the end still counts as at the end. */
const NEAR_PX = 2 * LINE_PX;

/** Lines of one height, of which only those in sight are in the page. Scrolling up ends following, scrolling down begins it again. */
export function LogList(props: {
  entries: readonly Entry[];
  follow: boolean;
  onFollow: (follow: boolean) => void;
  onOpen: (line: Line) => void;
}) {
  const [active, setActive] = createSignal<string>();
  const sight = createRowWindow({ count: () => props.entries.length, row_px: LINE_PX, around: 20 });
  let top = 0;
  /** The first line in sight: it stays where it is when others come in or go above it. */
  let first: { readonly id: string; readonly index: number } | undefined;
  const note = (index: number) => {
    const id = props.entries[index]?.id;
    first = id === undefined ? undefined : { id, index };
  };
  const hold = () => {
    const scroller = sight.scroller();
    if (scroller === undefined) return;
    const index = props.entries.findIndex(({ id }) => id === first?.id);
    if (first !== undefined && index !== -1 && index !== first.index) scroller.scrollTop += (index - first.index) * LINE_PX;
    note(Math.floor(scroller.scrollTop / LINE_PX));
  };
  createEffect(
    on([() => props.entries, () => props.follow, sight.height], ([, follow]) => {
      if (!follow) return hold();
      // After the taller list is in the page.
      requestAnimationFrame(() => {
        const scroller = sight.scroller();
        if (scroller !== undefined) scroller.scrollTop = scroller.scrollHeight;
      });
    }),
  );
  const scrolled = (event: { readonly currentTarget: HTMLElement }) => {
    const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
    const up = scrollTop < top;
    top = scrollTop;
    note(Math.floor(scrollTop / LINE_PX));
    if (props.follow && up && scrollHeight - scrollTop - clientHeight > NEAR_PX) props.onFollow(false);
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
    sight.reveal(to);
  };

  return (
    <div
      ref={sight.ref}
      class="log-list"
      role="region"
      tabindex="0"
      aria-label="Log lines"
      aria-description="Arrow keys move, Enter opens a line, End follows the newest."
      onScroll={scrolled}
      onKeyDown={move}
    >
      <ol style={{ height: `${props.entries.length * LINE_PX}px` }}>
        <For each={sight.indices()}>
          {(index) => (
            <Show when={props.entries[index]} keyed>
              {(entry) => (
                <li
                  class="log-line"
                  data-active={entry.id === active() ? 'true' : undefined}
                  style={{ transform: `translateY(${index * LINE_PX}px)` }}
                  onClick={() => {
                    setActive(entry.id);
                    if ('line' in entry && window.getSelection()?.toString() === '') props.onOpen(entry.line);
                  }}
                >
                  {'line' in entry ? (
                    <OneLine line={entry.line} />
                  ) : (
                    <span class="log-lost">{`${plural(entry.dropped, 'line')} dropped`}</span>
                  )}
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
      <time datetime={props.line.timestamp} title={exactTime(props.line.timestamp)}>
        {logTime(props.line.timestamp)}
      </time>
      <span class="log-level" data-level={props.line.level}>
        {props.line.level}
      </span>
      <span class="log-source">{SOURCE_WORDS[props.line.source]}</span>
      <span class="log-message">{props.line.message}</span>
      <span class="log-fields">
        <For each={fields()}>
          {([name, value]) => (
            <span>
              {name}=<b>{shortValue(value)}</b>
            </span>
          )}
        </For>
      </span>
    </>
  );
}

/** Durations come with more digits than anybody reads; the whole value stands in the drawer. */
const shortValue = (value: string | number | boolean | null): string =>
  typeof value === 'number' && !Number.isInteger(value) ? tenths(value) : String(value);
