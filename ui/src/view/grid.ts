import { cut } from '#core/lib/text/shorten.ts';
import { cellText } from '#core/lib/csv.ts';
import { type ColumnKind, columnKind, type Members, type Table, toNumber, toTime } from '#core/lib/view/table.ts';
import { button, el } from './elements.ts';
import type { Format } from './format.ts';

interface GridOptions {
  readonly label: string;
  readonly format: Format;
  /** The number format of these columns. */
  readonly style: { readonly columns: readonly string[]; readonly name: string | null };
  readonly copy: (text: string) => void;
  /** Below the rows. */
  readonly actions: HTMLElement;
}

const PAGE = 50;
/** Fewer rows are read faster than filtered. */
const FILTERED_FROM = 8;
const LONGEST = 300;

type Sort = { readonly column: string; readonly down: boolean } | null;

/** Rows to sort, filter and page through. Arrow keys move between cells, Ctrl or ⌘ C copies the one that has the focus. */
export function drawGrid(table: Table, options: GridOptions): HTMLElement {
  const { columns } = table;
  const { format, style } = options;
  const kinds = new Map(columns.map((column) => [column, columnKind(table, column)]));
  let sort: Sort = null;
  let filter = '';
  let page = 0;
  let shown: readonly Members[] = table.rows;
  /** The cell that Tab reaches. */
  let active = { row: 0, column: 0 };

  const head = el('tr');
  const body = el('tbody');
  const grid = el(
    'table',
    { role: 'grid', 'aria-label': options.label, 'aria-rowcount': table.rows.length + 1, 'aria-colcount': columns.length },
    el('thead', {}, head),
    body,
  );
  const status = el('span', { class: 'sv-soft', role: 'status' });
  const previous = button('Previous', () => turn(-1), { 'aria-label': 'Previous page' });
  const next = button('Next', () => turn(1), { 'aria-label': 'Next page' });
  const pager = el('div', { class: 'sv-bar' }, status, previous, next, options.actions);

  function turn(by: number): void {
    page += by;
    active = { row: 0, column: active.column };
    drawRows();
  }
  function choose(): void {
    const wanted = filter.toLowerCase();
    const found = wanted === '' ? table.rows : table.rows.filter((row) => holds(row, wanted));
    shown = sort === null ? found : sorted(found, sort.column, kinds.get(sort.column) ?? 'text', sort.down, format);
    page = 0;
    active = { row: 0, column: 0 };
    drawRows();
  }
  const holds = (row: Members, wanted: string) => columns.some((column) => cellText(row[column]).toLowerCase().includes(wanted));

  function drawHead(): void {
    head.replaceChildren(
      ...columns.map((column) => {
        const order = sort?.column === column ? (sort.down ? 'descending' : 'ascending') : 'none';
        const sorter = button(column, () => {
          sort = order === 'descending' ? null : { column, down: order === 'ascending' };
          drawHead();
          choose();
          // The button that was pressed is gone.
          head.querySelectorAll('button')[columns.indexOf(column)]?.focus();
        });
        sorter.className = 'sv-sort';
        const mark = el('span', { 'aria-hidden': 'true' }, { none: '', ascending: ' ↑', descending: ' ↓' }[order]);
        sorter.append(mark);
        return el('th', { scope: 'col', 'aria-sort': order, 'data-kind': kinds.get(column) }, sorter);
      }),
    );
  }

  function drawRows(): void {
    const from = page * PAGE;
    const rows = shown.slice(from, from + PAGE);
    body.replaceChildren(
      ...rows.map((row, y) =>
        el('tr', { 'aria-rowindex': from + y + 2 }, ...columns.map((column, x) => drawCell(row[column], column, y, x))),
      ),
    );
    const total = format.count(shown.length);
    status.textContent =
      shown.length === 0
        ? 'No rows match.'
        : shown.length <= PAGE
          ? `${total} ${shown.length === 1 ? 'row' : 'rows'}`
          : `${format.count(from + 1)}–${format.count(from + rows.length)} of ${total} rows`;
    previous.hidden = next.hidden = shown.length <= PAGE;
    previous.disabled = page === 0;
    next.disabled = from + PAGE >= shown.length;
  }

  function drawCell(value: unknown, column: string, y: number, x: number): HTMLTableCellElement {
    const kind = kinds.get(column) ?? 'text';
    const is_null = value === null || value === undefined;
    const text = format.cell(value, kind, style.columns.includes(column) ? style.name : null);
    const short = cut(text, LONGEST);
    const whole = cellText(value);
    const is_active = y === active.row && x === active.column;
    return el(
      'td',
      {
        role: 'gridcell',
        tabindex: is_active ? 0 : -1,
        'data-kind': kind,
        'data-null': is_null,
        title: whole.length > 20 || whole !== short ? whole.slice(0, 2_000) : undefined,
      },
      is_null ? 'null' : short,
    );
  }

  grid.addEventListener('focusin', ({ target }) => {
    const cell = target instanceof HTMLTableCellElement && target.tagName === 'TD' ? target : null;
    const row = cell?.parentElement;
    if (cell === null || !(row instanceof HTMLTableRowElement)) return;
    cellAt(active)?.setAttribute('tabindex', '-1');
    active = { row: row.sectionRowIndex, column: cell.cellIndex };
    cell.setAttribute('tabindex', '0');
  });
  grid.addEventListener('keydown', (event) => {
    if (!(event.target instanceof HTMLTableCellElement)) return;
    if ((event.ctrlKey || event.metaKey) && event.key === 'c' && String(getSelection()) === '') {
      options.copy(cellText(shown[page * PAGE + active.row]?.[columns[active.column] ?? '']));
      event.preventDefault();
      return;
    }
    const to = moved(event, active, body.rows.length, columns.length);
    if (to === null) return;
    event.preventDefault();
    cellAt(to)?.focus();
  });
  const cellAt = ({ row, column }: typeof active) => body.rows[row]?.cells[column];

  drawHead();
  drawRows();
  const tools = el('div', { class: 'sv-bar' });
  if (table.rows.length >= FILTERED_FROM) {
    const input = el('input', { type: 'search', class: 'sv-input', placeholder: 'Filter rows', 'aria-label': 'Filter rows' });
    input.addEventListener('input', () => {
      filter = input.value;
      choose();
    });
    tools.append(input);
  }
  return el('div', { class: 'sv-grid' }, tools, el('div', { class: 'sv-scroll' }, grid), pager);
}

function moved(event: KeyboardEvent, { row, column }: { row: number; column: number }, rows: number, columns: number) {
  const clamp = (value: number, most: number) => Math.min(Math.max(value, 0), most - 1);
  const steps: Readonly<Record<string, readonly [number, number]>> = {
    ArrowUp: [-1, 0],
    ArrowDown: [1, 0],
    ArrowLeft: [0, -1],
    ArrowRight: [0, 1],
    PageUp: [-10, 0],
    PageDown: [10, 0],
    Home: event.ctrlKey ? [-rows, -columns] : [0, -columns],
    End: event.ctrlKey ? [rows, columns] : [0, columns],
  };
  const step = steps[event.key];
  return step === undefined ? null : { row: clamp(row + step[0], rows), column: clamp(column + step[1], columns) };
}

/** What is missing comes last, whichever way is sorted. */
function sorted(rows: readonly Members[], column: string, kind: ColumnKind, down: boolean, format: Format): readonly Members[] {
  const value = (row: Members): number | string | null => {
    const cell = row[column];
    if (cell === null || cell === undefined) return null;
    return kind === 'number' ? toNumber(cell) : kind === 'time' ? toTime(cell) : cellText(cell);
  };
  return rows
    .map((row) => ({ row, key: value(row) }))
    .toSorted(({ key: a }, { key: b }) => {
      if (a === null || b === null) return Number(a === null) - Number(b === null);
      const order = typeof a === 'number' && typeof b === 'number' ? a - b : format.compare(String(a), String(b));
      return down ? -order : order;
    })
    .map(({ row }) => row);
}
