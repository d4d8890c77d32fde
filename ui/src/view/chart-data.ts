import { cellText } from '#core/lib/csv.ts';
import { columnKind, type Table, toNumber, toTime } from '#core/lib/view/table.ts';
import type { Drawing } from '#core/lib/view/drawing.ts';

/** The scale of the x axis. */
export type Axis = 'time' | 'number' | 'category';

export interface Point {
  /** Position on the axis; for a category, its index. */
  readonly at: number;
  readonly label: unknown;
  /** One per series, in order: null where a row has no number, undefined where there is no row. */
  readonly values: readonly (number | null | undefined)[];
}

export interface ChartData {
  readonly axis: Axis;
  readonly series: readonly string[];
  readonly points: readonly Point[];
  /** Number of categories that are not drawn. */
  readonly left_out: number;
}

/** More bars than this are unreadable. */
const MOST_CATEGORIES = 50;
const MOST_SERIES = 8;

/** The rows as points of a chart: one point per value of the axis, with one value per series. */
export function chartData({ kind, x, y, series }: Drawing, table: Table): ChartData {
  const found = x === null ? 'text' : columnKind(table, x);
  // Bars and pie parts are always categories, whatever the type of the column.
  const axis: Axis = kind === 'bar' || kind === 'pie' || found === 'text' ? 'category' : found;
  const [value = ''] = y;
  const names = series === null ? [...y] : [...new Set(table.rows.map((row) => cellText(row[series])))].slice(0, MOST_SERIES);
  const points = new Map<string, { at: number; label: unknown; values: (number | null | undefined)[] }>();
  for (const row of table.rows) {
    const label = x === null ? null : row[x];
    const key = cellText(label);
    const at = axis === 'time' ? toTime(label) : axis === 'number' ? toNumber(label) : points.size;
    if (at === null) continue;
    const point = points.get(key) ?? { at, label, values: names.map(() => undefined) };
    points.set(key, point);
    names.forEach((name, n) => {
      if (series === null || cellText(row[series]) === name) point.values[n] = toNumber(row[series === null ? name : value]);
    });
  }
  const all = [...points.values()];
  if (axis !== 'category') return { axis, series: names, points: all.toSorted((a, b) => a.at - b.at), left_out: 0 };
  // A pie needs all of its parts.
  const most = kind === 'pie' ? all.length : MOST_CATEGORIES;
  return { axis, series: names, points: all.slice(0, most), left_out: Math.max(0, all.length - most) };
}

/** Round numbers that span the values, including zero. */
export function ticksFor(values: readonly number[], wanted = 5): number[] {
  const [low, high] = values.reduce(([least, most], value) => [Math.min(least, value), Math.max(most, value)], [0, 0]);
  if (low === high) return [0, 1];
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough) ?? 10);
  const from = Math.floor(low / step);
  const to = Math.ceil(high / step);
  return Array.from({ length: to - from + 1 }, (_, n) => Number(((from + n) * step).toPrecision(12)));
}

const MOST_PARTS = 6;

export interface Part {
  readonly label: string;
  readonly value: number;
}

/** The parts of a pie, largest first; those beyond six are combined. Null: the numbers cannot be parts of a whole. */
export function partsOf({ points }: ChartData): Part[] | null {
  const parts = points.map(({ label, values }) => ({ label: cellText(label), value: values[0] ?? 0 }));
  const total = parts.reduce((sum, { value }) => sum + value, 0);
  if (parts.some(({ value }) => value < 0) || total <= 0) return null;
  const sorted = parts.toSorted((a, b) => b.value - a.value);
  if (sorted.length <= MOST_PARTS) return sorted;
  const rest = sorted.slice(MOST_PARTS - 1).reduce((sum, { value }) => sum + value, 0);
  return [...sorted.slice(0, MOST_PARTS - 1), { label: 'Other', value: Number(rest.toPrecision(12)) }];
}
