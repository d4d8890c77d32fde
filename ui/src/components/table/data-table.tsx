import { createMemo, createSignal, createUniqueId, For, type JSX, Match, Show, Switch } from 'solid-js';
import type { Pages } from '#ui/src/kernel/data/pages.ts';
import type { Query } from '#ui/src/kernel/data/query.ts';
import type { Selection } from '#ui/src/kernel/selection.ts';
import { type Narrow, nextRow, nextSort, type Sort, sortRows, type SortValue } from './table.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { Button } from '#ui/src/components/button.tsx';
import { Link } from '#ui/src/components/link.tsx';
import { Choose, ChooseAll, HeadCell, SkeletonRows } from './cells.tsx';
import { LoadMore } from './load-more.tsx';
import { createHeldRows } from './held-rows.ts';
import { createRowFocus } from './row-focus.ts';
import { createRowWindow, SpacerRow } from './row-window.tsx';
import { ProblemNotice } from '#ui/src/components/notice.tsx';
import { Ago } from '#ui/src/components/time.tsx';

export interface Column<T> {
  readonly id: string;
  readonly head: string;
  readonly cell?: (row: T) => JSX.Element;
  /** Instead of `cell`: the displayed text, also the sort value. */
  readonly text?: (row: T) => string;
  /** Instead of `cell`: a right-aligned number, formatted by `as`, also the sort value. */
  readonly num?: (row: T) => number;
  readonly as?: (value: number) => string;
  /** Instead of `cell`: a relative time, also the sort value; null shows `Never`. */
  readonly time?: (row: T) => string | null;
  /** Sort value of a `cell`; absent: not sortable. */
  readonly sort?: (row: T) => SortValue;
  /** A CSS width; columns without one share the rest. */
  readonly width?: string;
  readonly align?: 'end';
  /** Hidden below a page width: on a phone, also on a tablet, or wherever not all columns fit. */
  readonly narrow?: Narrow;
}

interface DataTableProps<T> {
  label: string;
  /** The query of the list. */
  list?: Query<{ readonly items: readonly T[] }>;
  /** Or a list that is loaded page by page. */
  pages?: Pages<T>;
  /** Or computed rows: undefined until the first answer. */
  rows?: readonly T[] | undefined;
  /** The query behind `rows`. If it fails, the error and a retry button are shown above the rows or instead of them. */
  query?: Pick<Query<unknown>, 'problem' | 'reload' | 'stale'>;
  columns: readonly Column<T>[];
  key: (row: T) => string;
  /** Address of a row: its first cell becomes the link. */
  href?: (row: T) => string;
  onOpen?: (row: T) => void;
  /** Given with `onSort`: the caller sorts. */
  sort?: Sort | undefined;
  onSort?: (sort: Sort | undefined) => void;
  selection?: Selection;
  /** Actions on the selected rows. */
  bulk?: (ids: readonly string[], clear: () => void) => JSX.Element;
  actions?: (row: T) => JSX.Element;
  /** Rows in a muted style, such as disabled ones. */
  muted?: (row: T) => boolean;
  current?: (row: T) => boolean;
  empty: JSX.Element;
  /** Height of the scroller when there are many rows. */
  height?: string;
}

const sortOf = <T,>({ sort, text, num, time }: Column<T>) => sort ?? text ?? num ?? time;
const alignOf = <T,>({ align, num }: Column<T>) => (num === undefined ? align : 'end');
const drawn = <T,>({ cell, text, num, as = String, time }: Column<T>, row: T): JSX.Element =>
  time === undefined ? (
    (cell?.(row) ?? text?.(row) ?? (num && as(num(row))))
  ) : (
    <Show when={time(row)} fallback={<span class="faint">Never</span>}>
      {(iso) => <Ago iso={iso()} />}
    </Show>
  );

const VIRTUAL_FROM = 50;
const ROW_PX = 44;

/** A table. Keyboard: ↑ ↓ Home End move, Enter opens, Space selects. */
export function DataTable<T>(props: DataTableProps<T>) {
  const { router } = useKernel();
  let table: HTMLDivElement | undefined;
  const given = createHeldRows(
    () => props.list?.data()?.items ?? props.pages?.items() ?? props.rows,
    () => table,
  );
  const query = () => props.list ?? props.pages ?? props.query;
  const stale = () => (query()?.stale?.() ? 'true' : undefined);
  const [own_sort, setOwnSort] = createSignal<Sort>();
  const sort = () => (props.onSort === undefined ? own_sort() : props.sort);
  const rows = createMemo<readonly T[]>(() => {
    const order = own_sort();
    const sorted = order && props.columns.find(({ id }) => id === order.column);
    const value = sorted && sortOf(sorted);
    const all = given() ?? [];
    return order === undefined || value === undefined ? all : sortRows(all, value, order.down);
  });
  const virtual = () => rows().length > VIRTUAL_FROM;
  const sight = createRowWindow({ count: () => rows().length, row_px: ROW_PX, around: 12, rows });
  /** Index of the first rendered row. */
  const first = () => (virtual() ? (sight.indices()[0] ?? 0) : 0);
  // Keyed by row object: a row that only moves keeps its element and the focus in it.
  const shown = createMemo(() => (virtual() ? rows().slice(first(), first() + sight.indices().length) : rows()));
  const focus = createRowFocus({ rows, key: (row) => props.key(row), scroller: sight.scroller });
  const columns = () => props.columns.length + (props.selection ? 1 : 0) + (props.actions ? 1 : 0);

  const press = (column: Column<T>) => {
    const next = nextSort(sort(), column.id);
    if (props.onSort) props.onSort(next);
    else setOwnSort(next);
  };
  const open = (row: T) => {
    if (props.onOpen) props.onOpen(row);
    else if (props.href) router.navigate(props.href(row));
  };
  const move = (event: KeyboardEvent) => {
    if (!(event.target instanceof HTMLElement)) return;
    const at = event.target.closest<HTMLElement>('tr[data-row]');
    if (at === null) return;
    const on_row = event.target === at;
    const index = Number(at.dataset['row']);
    const row = rows()[index];
    const to = on_row || !isWidget(event.target) ? nextRow(event.key, index, rows().length) : undefined;
    if (to !== undefined) {
      event.preventDefault();
      focusRow(to);
    } else if (row !== undefined && on_row && event.key === 'Enter') {
      event.preventDefault();
      open(row);
    } else if (row !== undefined && on_row && event.key === ' ' && props.selection) {
      event.preventDefault();
      props.selection.toggle(props.key(row));
    }
  };
  const focusRow = (index: number) => {
    focus.setActive(index);
    if (virtual()) sight.reveal(index);
    requestAnimationFrame(() => {
      // While the focused row was unmounted, the table was shorter for a moment and scrolled back.
      if (virtual()) sight.reveal(index);
      sight.scroller()?.querySelector<HTMLElement>(`tr[data-row="${index}"]`)?.focus();
    });
  };
  const openable = () => props.href !== undefined || props.onOpen !== undefined;
  const reachable = () => openable() || props.selection !== undefined;

  return (
    <div
      class="table-box"
      ref={(element) => {
        table = element;
      }}
    >
      <Show when={props.selection && props.bulk && props.selection.count() > 0 ? props.bulk : undefined}>
        {(bulk) => (
          <div class="bulk" role="group" aria-label="Selected rows">
            <span class="num">{props.selection?.count()} selected</span>
            {bulk()([...(props.selection?.ids() ?? [])], () => props.selection?.clear())}
            <Button kind="quiet" size="small" onPress={() => props.selection?.clear()}>
              Clear
            </Button>
          </div>
        )}
      </Show>
      <Show when={query()?.problem()}>
        {(problem) => (
          <div class="table-problem">
            <ProblemNotice problem={problem()} onRetry={() => void query()?.reload()} />
          </div>
        )}
      </Show>
      <Switch>
        <Match when={given() === undefined && query()?.problem()}>{null}</Match>
        <Match when={given()?.length === 0}>
          <div class="aging" data-stale={stale()}>
            {props.empty}
          </div>
        </Match>
        <Match when={true}>
          <div
            ref={sight.ref}
            class="table-scroll"
            // A table without row navigation is scrolled by the keyboard as a whole.
            tabindex={reachable() ? undefined : 0}
            role={reachable() ? undefined : 'group'}
            aria-label={reachable() ? undefined : props.label}
            data-virtual={virtual() ? 'true' : undefined}
            data-stale={stale()}
            style={{ 'max-height': virtual() ? (props.height ?? '72vh') : undefined }}
          >
            <table
              class="table"
              aria-label={props.label}
              aria-rowcount={given() && rows().length + 1}
              aria-busy={given() === undefined || stale() !== undefined}
            >
              <thead>
                <tr>
                  <Show when={props.selection}>
                    {(selection) => <ChooseAll ids={rows().map(props.key)} selection={selection()} />}
                  </Show>
                  <For each={props.columns}>
                    {(column) => (
                      <HeadCell
                        id={column.id}
                        sortable={sortOf(column) !== undefined}
                        sort={sort()}
                        onPress={() => press(column)}
                        align={alignOf(column)}
                        narrow={column.narrow}
                        width={column.width}
                      >
                        {column.head}
                      </HeadCell>
                    )}
                  </For>
                  <Show when={props.actions}>
                    <th scope="col" class="cell-actions">
                      <span class="visually-hidden">Actions</span>
                    </th>
                  </Show>
                </tr>
              </thead>
              <tbody onKeyDown={move}>
                <Show when={given() !== undefined} fallback={<SkeletonRows columns={columns()} />}>
                  <SpacerRow height={virtual() ? sight.before() : 0} columns={columns()} />
                  <For each={shown()}>
                    {(row, nth) => {
                      const index = () => first() + nth();
                      const name_id = createUniqueId();
                      return (
                        <tr
                          data-row={index()}
                          data-open={openable() ? 'true' : undefined}
                          data-muted={props.muted?.(row) ? 'true' : undefined}
                          data-chosen={props.selection?.has(props.key(row)) ? 'true' : undefined}
                          aria-current={props.current?.(row) ? 'true' : undefined}
                          aria-rowindex={virtual() ? index() + 2 : undefined}
                          tabindex={reachable() ? (index() === Math.min(focus.active(), rows().length - 1) ? 0 : -1) : undefined}
                          onFocusIn={(event) => focus.note(event, index(), row)}
                          onClick={(event) => {
                            if (openable() && !isWidget(event.target) && !hasSelectedText()) open(row);
                          }}
                        >
                          <Show when={props.selection}>
                            {(selection) => <Choose id={props.key(row)} cell={name_id} selection={selection()} />}
                          </Show>
                          <For each={props.columns}>
                            {(column, place) => (
                              <td
                                id={place() === 0 && props.selection ? name_id : undefined}
                                data-align={alignOf(column)}
                                data-narrow={column.narrow}
                                data-primary={place() === 0 ? 'true' : undefined}
                              >
                                <Show
                                  when={place() === 0 ? props.href : undefined}
                                  fallback={
                                    <Opener opens={place() === 0 && props.onOpen ? () => open(row) : undefined}>
                                      {drawn(column, row)}
                                    </Opener>
                                  }
                                >
                                  {(href) => (
                                    <Link href={href()(row)} class="cell-link">
                                      {drawn(column, row)}
                                    </Link>
                                  )}
                                </Show>
                              </td>
                            )}
                          </For>
                          <Show when={props.actions}>{(actions) => <td class="cell-actions">{actions()(row)}</td>}</Show>
                        </tr>
                      );
                    }}
                  </For>
                  <SpacerRow height={virtual() ? sight.after() : 0} columns={columns()} />
                </Show>
              </tbody>
            </table>
          </div>
          <Show when={props.pages?.total() === undefined ? undefined : props.pages}>
            {(pages) => (
              <LoadMore
                shown={rows().length}
                total={pages().total() ?? 0}
                busy={pages().pending()}
                onMore={() => void pages().more()}
              />
            )}
          </Show>
        </Match>
      </Switch>
    </div>
  );
}

/** A button that opens a row without an address, for keyboards and screen readers. */
function Opener(props: { opens: (() => void) | undefined; children: JSX.Element }) {
  return (
    <Show when={props.opens} fallback={props.children}>
      {(opens) => (
        <button type="button" class="cell-link" onClick={() => opens()()}>
          {props.children}
        </button>
      )}
    </Show>
  );
}

const WIDGETS = 'a, button, input, select, textarea, label, [role=menuitem], [role=switch], summary';
const isWidget = (target: EventTarget | null): boolean => target instanceof Element && target.closest(WIDGETS) !== null;
const hasSelectedText = (): boolean => (window.getSelection()?.toString() ?? '') !== '';
