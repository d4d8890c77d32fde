import { createEffect, createMemo, createSignal, For, on, Show } from 'solid-js';
import { HeadCell } from '#ui/src/components/table/cells.tsx';
import { createRowWindow, SpacerRow } from '#ui/src/components/table/row-window.tsx';
import { nextSort, type Sort, sortRows } from '#ui/src/components/table/table.ts';
import { useCopy } from '#ui/src/components/use-copy.ts';
import { cellText } from '#core/lib/csv.ts';
import type { Table } from '#core/lib/view/table.ts';
import { isNumeric, sortValue } from './result.ts';

const ROW_PX = 32;
const LONGEST = 300;

/**
 * Rows of a result; only those in sight are in the page. Arrow keys, Home, End and Page keys move between cells, Ctrl or ⌘ C copies the
 * cell that has the focus, and the head of a column sorts by it.
 */
export function ResultGrid(props: { label: string; table: Table }) {
  const copyText = useCopy();
  const [sort, setSort] = createSignal<Sort>();
  const columns = () => props.table.columns;
  const numeric = createMemo(() => new Set(columns().filter((column) => isNumeric(props.table, column))));
  const rows = createMemo(() => {
    const order = sort();
    if (order === undefined || !columns().includes(order.column)) return props.table.rows;
    const value = sortValue(order.column, numeric().has(order.column));
    return sortRows(props.table.rows, value, order.down);
  });
  const [active, setActive] = createSignal({ row: 0, column: 0 });
  const sight = createRowWindow({ count: () => rows().length, row_px: ROW_PX, around: 10 });
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
    const to = moved(event, active(), rows().length, columns().length);
    if (to === undefined) return;
    event.preventDefault();
    setActive(to);
    sight.reveal(to.row);
    requestAnimationFrame(() => sight.scroller()?.querySelector<HTMLElement>(`[data-cell="${to.row}:${to.column}"]`)?.focus());
  };

  const alignOf = (column: string) => (numeric().has(column) ? 'end' : undefined);

  return (
    <div ref={sight.ref} class="result-grid">
      <table role="grid" aria-label={props.label} aria-rowcount={rows().length + 1} onKeyDown={press}>
        <thead>
          <tr>
            <For each={columns()}>
              {(column, index) => (
                <HeadCell
                  id={column}
                  sortable
                  sort={sort()}
                  onPress={() => setSort(nextSort(sort(), column))}
                  align={alignOf(column)}
                >
                  <span>
                    {column}
                    <span class="column-type">{props.table.types?.[index()]}</span>
                  </span>
                </HeadCell>
              )}
            </For>
          </tr>
        </thead>
        <tbody>
          <SpacerRow height={sight.before()} columns={columns().length} />
          <For each={sight.indices()}>
            {(index) => (
              <tr aria-rowindex={index + 2}>
                <For each={columns()}>
                  {(column, place) => (
                    <td
                      role="gridcell"
                      data-cell={`${index}:${place()}`}
                      data-align={alignOf(column)}
                      tabindex={active().row === index && active().column === place() ? 0 : -1}
                      onFocus={() => setActive({ row: index, column: place() })}
                    >
                      <Cell value={rows()[index]?.[column]} />
                    </td>
                  )}
                </For>
              </tr>
            )}
          </For>
          <SpacerRow height={sight.after()} columns={columns().length} />
        </tbody>
      </table>
    </div>
  );
}

function Cell(props: { value: unknown }) {
  const text = () => cellText(props.value);
  return (
    <Show when={props.value !== null && props.value !== undefined} fallback={<em class="faint">null</em>}>
      <span title={text().length > 40 ? text().slice(0, 2_000) : undefined}>
        {text().length > LONGEST ? `${text().slice(0, LONGEST)}…` : text()}
      </span>
    </Show>
  );
}

interface CellPlace {
  readonly row: number;
  readonly column: number;
}

const PAGE = 10;

function moved(event: KeyboardEvent, { row, column }: CellPlace, rows: number, columns: number): CellPlace | undefined {
  const whole = event.ctrlKey || event.metaKey;
  const to: Readonly<Record<string, CellPlace>> = {
    ArrowUp: { row: row - 1, column },
    ArrowDown: { row: row + 1, column },
    ArrowLeft: { row, column: column - 1 },
    ArrowRight: { row, column: column + 1 },
    Home: { row: whole ? 0 : row, column: 0 },
    End: { row: whole ? rows - 1 : row, column: columns - 1 },
    PageUp: { row: row - PAGE, column },
    PageDown: { row: row + PAGE, column },
  };
  const wanted = to[event.key];
  if (wanted === undefined || rows === 0) return undefined;
  return {
    row: Math.min(Math.max(wanted.row, 0), rows - 1),
    column: Math.min(Math.max(wanted.column, 0), columns - 1),
  };
}
