import { createEffect, createMemo, createSignal, For, on, Show } from 'solid-js';
import { beginning, cut } from '#core/lib/text/shorten.ts';
import { Link } from '#ui/src/components/link.tsx';
import { HeadCell } from '#ui/src/components/table/cells.tsx';
import { createRowWindow, SpacerRow } from '#ui/src/components/table/row-window.tsx';
import { nextSort, type Sort, sortRows } from '#ui/src/components/table/table.ts';
import { useCopy } from '#ui/src/components/use-copy.ts';
import { cellText } from '#core/lib/csv.ts';
import type { Table } from '#core/lib/view/table.ts';
import { isNumeric, sortValue } from './result.ts';

const ROW_PX = 32;
const LONGEST = 300;
/** Of more columns than these, only those in sight are in the page; fewer are as wide as what they hold. */
const MOST_COLUMNS = 24;
const AROUND = 3;
/** Rows that the widths of many columns are taken from. */
const MEASURED = 50;
const LETTERS = { least: 6, most: 45 };
/** In units of the root font: a letter, and the space around a cell. */
const LETTER_REM = 0.47;
const BESIDE_REM = 2.5;

/** Rows that the database sorts. */
interface GivenOrder {
  readonly sort: Sort | undefined;
  readonly onSort: (sort: Sort | undefined) => void;
  readonly isSortable: (column: string) => boolean;
}

/**
 * Rows of a result; only those in sight are in the page, and only the columns in sight where there are many. Arrow keys, Home, End and Page keys move between cells, Ctrl or ⌘ C copies the
 * cell that has the focus, Enter follows its link, and the head of a column sorts by it.
 */
export function ResultGrid(props: {
  label: string;
  table: Table;
  /** Absent: the rows are sorted here. */
  order?: GivenOrder;
  /** Where a value leads. */
  hrefOf?: (column: string, value: unknown) => string | undefined;
}) {
  const copyText = useCopy();
  const [local_sort, setLocalSort] = createSignal<Sort>();
  const sort = () => (props.order === undefined ? local_sort() : props.order.sort);
  const setSort = (next: Sort | undefined) => (props.order === undefined ? setLocalSort(next) : props.order.onSort(next));
  const columns = () => props.table.columns;
  const numeric = createMemo(() => new Set(columns().filter((column) => isNumeric(props.table, column))));
  const rows = createMemo(() => {
    const order = local_sort();
    if (order === undefined || !columns().includes(order.column)) return props.table.rows;
    const value = sortValue(order.column, numeric().has(order.column));
    return sortRows(props.table.rows, value, order.down);
  });
  const [active, setActive] = createSignal({ row: 0, column: 0 });
  const sight = createRowWindow({ count: () => rows().length, row_px: ROW_PX, around: 10 });
  const is_wide = () => columns().length > MOST_COLUMNS;
  const letters = createMemo(() => (is_wide() ? columns().map((_, at) => lettersOf(props.table, at)) : undefined));
  const edges = createMemo(() => edgesOf(letters() ?? []));
  const shown = createMemo<readonly number[]>((before) => {
    const now = is_wide() ? columnsBetween(edges(), sight.left(), sight.left() + sight.width()) : [...columns().keys()];
    return now.length === before.length && now[0] === before[0] ? before : now;
  }, []);
  const gaps = () => {
    const [from, to] = [shown()[0] ?? 0, (shown().at(-1) ?? -1) + 1];
    return is_wide() ? [edges()[from] ?? 0, (edges().at(-1) ?? 0) - (edges()[to] ?? 0)] : [0, 0];
  };
  const widthOf = (at: number) => (is_wide() ? `${(edges()[at + 1] ?? 0) - (edges()[at] ?? 0)}px` : undefined);
  /** The cell that Tab reaches: the one that was last visited, or what is nearest to it in sight. */
  const row_reached = createMemo(() => nearest(active().row, sight.indices()));
  const column_reached = createMemo(() => nearest(active().column, shown()));
  createEffect(
    on(rows, () => {
      setActive({ row: 0, column: 0 });
      sight.scroller()?.scrollTo({ top: 0, left: 0 });
    }),
  );

  const copy = () => {
    const { row, column } = active();
    return copyText(cellText(rows()[row]?.[columns()[column] ?? '']), 'Cell copied.');
  };
  const press = (event: KeyboardEvent) => {
    if ((event.ctrlKey || event.metaKey) && event.key === 'c' && (window.getSelection()?.toString() ?? '') === '') {
      event.preventDefault();
      void copy();
      return;
    }
    if (event.key === 'Enter' && event.target instanceof HTMLTableCellElement) {
      const { row, column } = active();
      sight.scroller()?.querySelector<HTMLElement>(`[data-cell="${row}:${column}"] a`)?.click();
      return;
    }
    const to = moved(event, active(), rows().length, columns().length);
    if (to === undefined) return;
    event.preventDefault();
    setActive(to);
    sight.reveal(to.row);
    if (is_wide()) sight.revealAcross(edges()[to.column] ?? 0, edges()[to.column + 1] ?? 0);
    requestAnimationFrame(() => sight.scroller()?.querySelector<HTMLElement>(`[data-cell="${to.row}:${to.column}"]`)?.focus());
  };

  const nameOf = (at: number) => columns()[at] ?? '';
  const alignOf = (column: string) => (numeric().has(column) ? 'end' : undefined);

  return (
    <div ref={sight.ref} class="result-grid">
      <table
        role="grid"
        aria-label={props.label}
        aria-rowcount={rows().length + 1}
        aria-colcount={columns().length}
        data-wide={is_wide() ? 'true' : undefined}
        style={{ width: is_wide() ? `${edges().at(-1)}px` : undefined }}
        onKeyDown={press}
      >
        <thead>
          <tr>
            <Gap width={gaps()[0]} />
            <For each={shown()}>
              {(at) => (
                <HeadCell
                  id={nameOf(at)}
                  sortable={props.order?.isSortable(nameOf(at)) ?? true}
                  sort={sort()}
                  onPress={() => setSort(nextSort(sort(), nameOf(at)))}
                  align={alignOf(nameOf(at))}
                  width={widthOf(at)}
                  place={at + 1}
                >
                  <span class="column-name">
                    {nameOf(at)}
                    <span class="column-type">{props.table.types?.[at]}</span>
                  </span>
                </HeadCell>
              )}
            </For>
            <Gap width={gaps()[1]} />
          </tr>
        </thead>
        <tbody>
          <SpacerRow height={sight.before()} columns={shown().length + 2} />
          <For each={sight.indices()}>
            {(index) => (
              <tr aria-rowindex={index + 2}>
                <Gap width={gaps()[0]} />
                <For each={shown()}>
                  {(at) => (
                    <td
                      role="gridcell"
                      aria-colindex={at + 1}
                      data-cell={`${index}:${at}`}
                      data-align={alignOf(nameOf(at))}
                      tabindex={row_reached() === index && column_reached() === at ? 0 : -1}
                      onFocus={() => setActive({ row: index, column: at })}
                    >
                      <Show
                        when={props.hrefOf?.(nameOf(at), rows()[index]?.[nameOf(at)] ?? null)}
                        fallback={<Cell value={rows()[index]?.[nameOf(at)]} fits={letters()?.[at] ?? 40} />}
                      >
                        {(href) => (
                          <Link href={href()} tabindex={-1}>
                            <Cell value={rows()[index]?.[nameOf(at)]} fits={letters()?.[at] ?? 40} />
                          </Link>
                        )}
                      </Show>
                    </td>
                  )}
                </For>
                <Gap width={gaps()[1]} />
              </tr>
            )}
          </For>
          <SpacerRow height={sight.after()} columns={shown().length + 2} />
        </tbody>
      </table>
    </div>
  );
}

/** Takes the width of the columns that are out of view. */
function Gap(props: { width: number | undefined }) {
  return (
    <Show when={(props.width ?? 0) > 0}>
      <td aria-hidden="true" class="spacer" style={{ width: `${props.width}px` }} />
    </Show>
  );
}

/** How many letters of a column are shown. */
function lettersOf({ columns, types, rows }: Table, at: number): number {
  const column = columns[at] ?? '';
  const cells = rows.slice(0, MEASURED).map((row) => cellText(row[column]).length);
  return Math.min(LETTERS.most, Math.max(LETTERS.least, column.length, types?.[at]?.length ?? 0, ...cells));
}

/** Where each column begins, and where the last one ends. */
function edgesOf(letters: readonly number[]): number[] {
  const rem_px = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  const edges = [0];
  for (const count of letters) edges.push((edges.at(-1) ?? 0) + Math.ceil((count * LETTER_REM + BESIDE_REM) * rem_px));
  return edges;
}

function columnsBetween(edges: readonly number[], left: number, right: number): number[] {
  const first = edges.findLastIndex((edge) => edge <= left);
  const last = edges.findIndex((edge) => edge >= right);
  const from = Math.max(0, first - AROUND);
  const to = Math.min(edges.length - 1, (last < 0 ? edges.length : last) + AROUND);
  return Array.from({ length: Math.max(0, to - from) }, (_, n) => from + n);
}

const nearest = (at: number, indices: readonly number[]): number => Math.min(Math.max(at, indices[0] ?? 0), indices.at(-1) ?? 0);

function Cell(props: { value: unknown; fits: number }) {
  const text = () => cellText(props.value);
  return (
    <Show when={props.value !== null && props.value !== undefined} fallback={<em class="faint">null</em>}>
      <span title={text().length > props.fits ? beginning(text(), 2_000) : undefined}>{cut(text(), LONGEST)}</span>
    </Show>
  );
}

interface CellPosition {
  readonly row: number;
  readonly column: number;
}

const PAGE = 10;

function moved(event: KeyboardEvent, { row, column }: CellPosition, rows: number, columns: number): CellPosition | undefined {
  const whole = event.ctrlKey || event.metaKey;
  const to: Readonly<Record<string, CellPosition>> = {
    ArrowUp: { row: row - 1, column },
    ArrowDown: { row: row + 1, column },
    ArrowLeft: { row, column: column - 1 },
    ArrowRight: { row, column: column + 1 },
    Home: { row: whole ? 0 : row, column: 0 },
    End: { row: whole ? rows - 1 : row, column: columns - 1 },
    PageUp: { row: row - PAGE, column },
    PageDown: { row: row + PAGE, column },
  };
  const next = to[event.key];
  if (next === undefined || rows === 0) return undefined;
  return {
    row: Math.min(Math.max(next.row, 0), rows - 1),
    column: Math.min(Math.max(next.column, 0), columns - 1),
  };
}
