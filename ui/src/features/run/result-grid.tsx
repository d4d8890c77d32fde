import { createEffect, createMemo, createSignal, For, on, Show } from 'solid-js';
import { createRowWindow, SpacerRow } from '#ui/src/components/table/row-window.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { cellText } from '#core/lib/csv.ts';

interface ResultGridProps {
  label: string;
  columns: readonly string[];
  types: readonly string[];
  rows: readonly Readonly<Record<string, unknown>>[];
}

const ROW_PX = 32;
const LONGEST = 300;

/**
 * Rows of a result; only those in sight are in the page. Arrow keys, Home, End and Page keys move between cells, Ctrl or ⌘ C copies the
 * cell that has the focus.
 */
export function ResultGrid(props: ResultGridProps) {
  const { toasts } = useKernel();
  const [active, setActive] = createSignal({ row: 0, column: 0 });
  const sight = createRowWindow({ count: () => props.rows.length, row_px: ROW_PX, around: 10 });
  createEffect(
    on(
      () => props.rows,
      () => {
        setActive({ row: 0, column: 0 });
        sight.scroller()?.scrollTo({ top: 0, left: 0 });
      },
    ),
  );
  const numeric = createMemo(() => props.columns.map((column) => props.rows.some((row) => typeof row[column] === 'number')));

  const copy = async () => {
    const { row, column } = active();
    const value = props.rows[row]?.[props.columns[column] ?? ''];
    try {
      await navigator.clipboard.writeText(cellText(value));
      toasts.show('Cell copied.');
    } catch {
      toasts.show('The browser does not allow copying here. Select the text and copy it by hand.', 'bad');
    }
  };
  const press = (event: KeyboardEvent) => {
    if ((event.ctrlKey || event.metaKey) && event.key === 'c' && (window.getSelection()?.toString() ?? '') === '') {
      event.preventDefault();
      void copy();
      return;
    }
    const to = moved(event, active(), props.rows.length, props.columns.length);
    if (to === undefined) return;
    event.preventDefault();
    setActive(to);
    sight.reveal(to.row);
    requestAnimationFrame(() => sight.scroller()?.querySelector<HTMLElement>(`[data-cell="${to.row}:${to.column}"]`)?.focus());
  };

  return (
    <div ref={sight.ref} class="result-grid">
      <table role="grid" aria-label={props.label} aria-rowcount={props.rows.length + 1} onKeyDown={press}>
        <thead>
          <tr>
            <For each={props.columns}>
              {(column, index) => (
                <th scope="col" data-align={numeric()[index()] ? 'end' : undefined}>
                  {column}
                  <span class="column-type">{props.types[index()]}</span>
                </th>
              )}
            </For>
          </tr>
        </thead>
        <tbody>
          <SpacerRow height={sight.before()} columns={props.columns.length} />
          <For each={sight.indices()}>
            {(index) => (
              <tr aria-rowindex={index + 2}>
                <For each={props.columns}>
                  {(column, place) => (
                    <td
                      role="gridcell"
                      data-cell={`${index}:${place()}`}
                      data-align={numeric()[place()] ? 'end' : undefined}
                      tabindex={active().row === index && active().column === place() ? 0 : -1}
                      onFocus={() => setActive({ row: index, column: place() })}
                    >
                      <Cell value={props.rows[index]?.[column]} />
                    </td>
                  )}
                </For>
              </tr>
            )}
          </For>
          <SpacerRow height={sight.after()} columns={props.columns.length} />
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
