import * as v from 'valibot';
import type { DrawingKind } from '#core/lib/view/drawing.ts';

export const VIEW_KINDS = [
  'table',
  'record',
  'value',
  'bar',
  'line',
  'area',
  'pie',
  'none',
] as const satisfies readonly DrawingKind[];
export const ViewKind = v.picklist(VIEW_KINDS);
export type ViewKind = v.InferOutput<typeof ViewKind>;

/** Number formats: a style, or a currency code. */
export const NUMBER_FORMATS = ['integer', 'decimal', 'compact', 'percent', 'bytes'] as const;
const FORMAT = new RegExp(`^(?:${NUMBER_FORMATS.join('|')}|[A-Z]{3})$`);

/** Limited by the columns of the statement. */
const Column = v.string();

/** How clients that render results display those of a tool. */
export const View = v.strictObject({
  kind: ViewKind,
  x: v.optional(Column),
  y: v.optional(v.pipe(v.array(Column), v.minLength(1), v.maxLength(8))),
  series: v.optional(Column),
  title: v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(200))),
  format: v.optional(
    v.pipe(v.string(), v.regex(FORMAT, `must be ${NUMBER_FORMATS.join(', ')}, or the three letters of a currency such as EUR`)),
  ),
});
export type View = v.InferOutput<typeof View>;

export const VIEW_CHOICES: Readonly<Record<ViewKind, { readonly label: string; readonly help: string }>> = {
  table: { label: 'Table', help: 'Rows to sort and filter' },
  record: { label: 'Record', help: 'The fields of one row' },
  value: { label: 'Value', help: 'One cell, large' },
  bar: { label: 'Bar chart', help: 'Numbers by category' },
  line: { label: 'Line chart', help: 'Numbers over time' },
  area: { label: 'Area chart', help: 'Numbers over time, filled' },
  pie: { label: 'Pie chart', help: 'Parts of a whole, at most six' },
  none: { label: 'None', help: 'Clients show the text' },
};
