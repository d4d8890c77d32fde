import type { View } from '#core/contract/definitions/view.ts';
import { toCsv } from '#core/lib/csv.ts';
import { type Drawing, isChart, resolveDrawing } from '#core/lib/view/drawing.ts';
import { columnKind, type Members, type Table } from '#core/lib/view/table.ts';
import { drawChart } from './chart.ts';
import { button, el } from './elements.ts';
import { createFormat, type Format } from './format.ts';
import { drawGrid } from './grid.ts';
import { toDrawable } from './result.ts';

interface DrawOptions {
  /** What the tool says; null: what fits the rows. */
  readonly view: View | null;
  readonly locale?: string | undefined;
  readonly time_zone?: string | undefined;
  readonly copy: (text: string) => void;
  /** Saves the rows as a file; absent: they can only be copied. */
  readonly save?: ((csv: string) => void) | undefined;
}

/** What of it depends on the width of its frame is drawn again when that changes. */
export interface Drawn {
  readonly element: HTMLElement;
  resize(width: number): void;
}

const FIXED: Drawn['resize'] = () => undefined;

/** A result of `tools/call` as it is looked at. */
export function drawResult(result: Members, options: DrawOptions): Drawn {
  const found = toDrawable(result);
  if (found.kind !== 'table') {
    const element =
      found.kind === 'error'
        ? el('p', { class: 'sv-error', role: 'alert' }, found.text || 'The call failed.')
        : el('pre', { class: 'sv-text', tabindex: 0 }, found.text);
    return { element, resize: FIXED };
  }
  const { table, truncated } = found;
  const drawing = resolveDrawing(options.view, table);
  const format = createFormat(options.locale, options.time_zone);
  const { body, resize } = drawBody(table, drawing, format, options);
  const note = truncated ? el('p', { class: 'sv-soft' }, 'Not complete: a row or size limit was reached.') : undefined;
  const title = drawing.title === null ? undefined : el('h2', {}, drawing.title);
  return { element: el('div', { class: 'sv-result', 'data-kind': drawing.kind }, title, body, note), resize };
}

function drawBody(
  table: Table,
  drawing: Drawing,
  format: Format,
  options: DrawOptions,
): { body: HTMLElement; resize: Drawn['resize'] } {
  const [row] = table.rows;
  if (row === undefined) return { body: el('p', { class: 'sv-soft', role: 'status' }, 'No rows.'), resize: FIXED };
  if (drawing.kind === 'value') return { body: drawValue(table, row, drawing, format), resize: FIXED };
  if (drawing.kind === 'record')
    return { body: el('div', {}, drawRecord(table, row, format), drawActions(table, options)), resize: FIXED };
  const grid = drawGrid(table, {
    label: drawing.title ?? 'Rows',
    format,
    style: { columns: drawing.y, name: drawing.format },
    copy: options.copy,
    actions: drawActions(table, options),
  });
  if (!isChart(drawing.kind)) return { body: grid, resize: FIXED };
  const place = el('div');
  return {
    body: el('div', { class: 'sv-beside' }, place, grid),
    resize(width) {
      place.replaceChildren(drawChart(drawing, table, format, Math.floor(place.clientWidth || width)));
    },
  };
}

function drawActions(table: Table, { copy, save }: DrawOptions): HTMLElement {
  const csv = () =>
    toCsv(
      table.columns,
      table.rows.map((row) => table.columns.map((column) => row[column])),
    );
  return el(
    'div',
    { class: 'sv-bar sv-actions' },
    button('Copy CSV', () => copy(csv())),
    save === undefined ? undefined : button('Save CSV', () => save(csv())),
  );
}

function drawValue(table: Table, row: Members, { y, format: style }: Drawing, format: Format): HTMLElement {
  const cells = y.map((column) =>
    el(
      'p',
      { class: 'sv-cell' },
      el('span', { class: 'sv-big' }, format.cell(row[column], columnKind(table, column), style) || 'null'),
      el('span', { class: 'sv-soft' }, column),
    ),
  );
  return el('div', { class: 'sv-bar' }, ...cells);
}

const drawRecord = (table: Table, row: Members, format: Format): HTMLElement =>
  el(
    'dl',
    { class: 'sv-record' },
    ...table.columns.flatMap((column) => {
      const value = row[column];
      const text = format.cell(value, columnKind(table, column));
      return [el('dt', {}, column), el('dd', { 'data-null': value === null }, value === null ? 'null' : text)];
    }),
  );
