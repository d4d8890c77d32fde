import { cellText } from '../csv.ts';
import { columnKind, type Table } from './table.ts';

export type DrawingKind = 'table' | 'record' | 'value' | 'bar' | 'line' | 'area' | 'pie' | 'none';

/** How a result shall be drawn; what is absent follows from its rows. */
export interface View {
  readonly kind: DrawingKind;
  readonly x?: string | undefined;
  readonly y?: readonly string[] | undefined;
  readonly series?: string | undefined;
  readonly title?: string | undefined;
  readonly format?: string | undefined;
}

/** Everything needed to draw a result: its view, completed from its rows. */
export interface Drawing {
  readonly kind: DrawingKind;
  /** Column of the axis or the categories. Null: the kind has none. */
  readonly x: string | null;
  /** Columns of the values. */
  readonly y: readonly string[];
  /** Column whose values distinguish the lines or bars. */
  readonly series: string | null;
  readonly title: string | null;
  readonly format: string | null;
}

const CHARTS: ReadonlySet<DrawingKind> = new Set(['bar', 'line', 'area', 'pie']);
export const isChart = (kind: DrawingKind): boolean => CHARTS.has(kind);

/** Numeric identifiers are not amounts. */
const NAMES = /^(?:id|.*_id|.*Id|code|zip|postcode|phone)$/;
const YEAR = /^(?:year|yr|.*_year)$/i;
const BARS = { from: 2, to: 50 };
const MOST_VALUES = 4;
const MOST_SERIES = 8;

interface Columns {
  readonly numbers: readonly string[];
  readonly times: readonly string[];
  readonly texts: readonly string[];
}

function sortColumns(table: Table): Columns {
  const kinds = new Map(table.columns.map((column) => [column, kindOf(table, column)]));
  const of = (kind: string) => table.columns.filter((column) => kinds.get(column) === kind);
  return { numbers: of('number'), times: of('time'), texts: of('text') };
}

/** Like `columnKind`, but years are times and numeric identifiers are texts. */
function kindOf(table: Table, column: string): string {
  const kind = columnKind(table, column);
  if (kind !== 'number') return kind;
  return YEAR.test(column) ? 'time' : NAMES.test(column) ? 'text' : 'number';
}

/**
 * How a result without a view is drawn: a cell as a value, a row as a record, numbers over time as lines, numbers per category as
 * bars.
 */
function inferDrawing(table: Table): Drawing {
  const { columns, rows } = table;
  const plain = (kind: DrawingKind, y: readonly string[] = []): Drawing => ({ ...NOTHING, kind, y });
  if (rows.length === 1) return columns.length === 1 ? plain('value', columns) : plain('record');
  const { numbers, times, texts } = sortColumns(table);
  const [x] = times;
  if (rows.length < BARS.from || numbers.length === 0 || numbers.length > MOST_VALUES) return plain('table');
  if (x !== undefined && times.length === 1) {
    const [series] = texts;
    if (texts.length === 0) return isRepeated(table, [x]) ? plain('table') : { ...plain('line', numbers), x };
    if (series === undefined || texts.length > 1 || numbers.length > 1) return plain('table');
    const is_series = valuesOf(table, series) <= MOST_SERIES && !isRepeated(table, [x, series]) && isRepeated(table, [x]);
    return is_series ? { ...plain('line', numbers), x, series } : plain('table');
  }
  const [category] = texts;
  const fits = texts.length === 1 && times.length === 0 && rows.length <= BARS.to;
  return fits && category !== undefined && !isRepeated(table, [category])
    ? { ...plain('bar', numbers), x: category }
    : plain('table');
}

const NOTHING = { x: null, y: [], series: null, title: null, format: null };
const keyOf = (row: Table['rows'][number], columns: readonly string[]) =>
  JSON.stringify(columns.map((column) => cellText(row[column])));
const isRepeated = ({ rows }: Table, columns: readonly string[]): boolean =>
  new Set(rows.map((row) => keyOf(row, columns))).size < rows.length;
const valuesOf = ({ rows }: Table, column: string): number => new Set(rows.map((row) => keyOf(row, [column]))).size;

/** Completes a tool's view from the rows. A chart that these rows do not allow becomes a table. */
export function resolveDrawing(view: View | null, table: Table): Drawing {
  const title = view?.title ?? null;
  const format = view?.format ?? null;
  if (view === null) return inferDrawing(table);
  if (view.kind === 'record' && table.rows.length !== 1) return { ...NOTHING, kind: 'table', title, format };
  if (view.kind === 'value') {
    const y = view.y ?? table.columns.slice(0, 1);
    const fits = table.rows.length === 1 && y.every((column) => table.columns.includes(column));
    return { ...NOTHING, kind: fits ? 'value' : 'table', y: fits ? y : [], title, format };
  }
  if (!isChart(view.kind)) return { ...NOTHING, kind: view.kind, y: view.y ?? [], title, format };
  const { numbers, times, texts } = sortColumns(table);
  const series = view.series ?? null;
  const axes = [...times, ...texts].filter((column) => column !== series);
  const x = view.x ?? axes.find((column) => hasOneRowEach(table, column, series)) ?? null;
  const left = numbers.filter((column) => column !== x && column !== view.series);
  const y = view.y ?? left.slice(0, view.kind === 'pie' || view.series !== undefined ? 1 : MOST_VALUES);
  const known = [x, ...y, ...(series === null ? [] : [series])].every(
    (column) => column !== null && table.columns.includes(column),
  );
  const is_drawn = known && y.length > 0 && table.rows.length > 0 && y.every((column) => columnKind(table, column) === 'number');
  const drawable = is_drawn && x !== null && hasOneRowEach(table, x, series);
  return drawable ? { kind: view.kind, x, y, series, title, format } : { ...NOTHING, kind: 'table', title, format };
}

/** Whether each axis value occurs once, or once per series: a chart has one position for it. */
const hasOneRowEach = (table: Table, x: string, series: string | null): boolean =>
  series === null ? !isRepeated(table, [x]) : !isRepeated(table, [x, series]) && valuesOf(table, series) <= MOST_SERIES;
