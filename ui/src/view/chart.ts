import { cellText } from '#core/lib/csv.ts';
import { shorten } from '#core/lib/text/shorten.ts';
import type { Drawing } from '#core/lib/view/drawing.ts';
import type { Table } from '#core/lib/view/table.ts';
import { type ChartData, chartData, type Part, partsOf, type Point, ticksFor } from './chart-data.ts';
import { el, svg } from './elements.ts';
import type { Format } from './format.ts';

const HEIGHT = 260;
/** Around the area of the lines. */
const [LEFT, RIGHT, TOP, BOTTOM] = [52, 12, 10, 26];
const BAR = { height: 16, gap: 8, label: 0.32, longest: 170, value: 56 };
/** Of a label, on average; letters of East Asia are about as wide as high. */
const [LETTER_PX, WIDE_PX] = [7, 13];
const letterOf = (text: string): number => (/[\u1100-\u11ff\u2e80-\ud7ff\uf900-\uffef]/.test(text) ? WIDE_PX : LETTER_PX);
const widest = (texts: readonly string[]): number =>
  texts.reduce((most, text) => Math.max(most, text.length * letterOf(text)), 0);
/** Of so many points each is marked and says what it is. */
const MARKED = 100;
/** Of `2026-03` and `2026-03-31`; a moment is longer. */
const [MONTH_LENGTH, DAY_LENGTH] = [7, 10];
/** Longer ones would touch each other below the axis. */
const LABEL_LENGTH = 10;
/** Least room of a label of the axis. */
const LABEL_PX = 76;

const NAMES: Readonly<Record<string, string>> = {
  bar: 'Bar chart',
  line: 'Line chart',
  area: 'Area chart',
  pie: 'Pie chart',
};

/** A chart with its legend. The table beside it has every number. */
export function drawChart(drawing: Drawing, table: Table, format: Format, width: number): HTMLElement {
  const whole = chartData(drawing, table);
  const parts = drawing.kind === 'pie' ? partsOf(whole) : null;
  const kind = drawing.kind === 'pie' && parts === null ? 'bar' : drawing.kind;
  const data = kind === drawing.kind ? whole : chartData({ ...drawing, kind }, table);
  const label = `${NAMES[kind]} of ${drawing.y.join(', ')} by ${drawing.x ?? 'row'}, ${data.points.length} ${data.points.length === 1 ? 'value' : 'values'}`;
  const picture =
    parts !== null
      ? drawPie(parts, format, drawing.format)
      : kind === 'line' || kind === 'area'
        ? drawLines(data, drawing, format, width)
        : drawBars(data, drawing, format, width);
  picture.setAttribute('role', 'img');
  picture.setAttribute('aria-label', label);
  const legend =
    parts === null ? (data.series.length > 1 ? data.series : []) : parts.map((part) => partText(part, parts, format, drawing));
  return el(
    'figure',
    { class: 'sv-chart' },
    picture,
    legend.length === 0 ? undefined : drawLegend(legend),
    data.left_out === 0 ? undefined : el('figcaption', { class: 'sv-soft' }, `${format.count(data.left_out)} more in the table.`),
  );
}

const drawLegend = (names: readonly string[]): HTMLElement =>
  el(
    'ul',
    { class: 'sv-legend' },
    ...names.map((name, n) => el('li', {}, el('span', { class: 'sv-dot', 'data-series': n % 8, 'aria-hidden': 'true' }), name)),
  );

/** Bars lie, so that the names of their categories can be read at every width. */
function drawBars({ points, series }: ChartData, drawing: Drawing, format: Format, width: number): SVGSVGElement {
  const longest = widest(points.map(({ label }) => cellText(label) || '–')) + 12;
  const left = Math.min(longest, BAR.longest, width * BAR.label);
  const band = series.length * BAR.height + BAR.gap;
  const ticks = ticksFor(numbersOf(points));
  const [low = 0, high = 1] = [ticks[0], ticks.at(-1)];
  const written = (value: number) => format.axis(value, drawing.format);
  const room = Math.max(40, width - left - Math.max(BAR.value, widest(numbersOf(points).map(written)) + 8));
  const scale = (value: number) => left + ((value - low) / (high - low)) * room;
  const height = points.length * band + BAR.gap;
  const bars = points.flatMap((point, row) =>
    point.values.flatMap((value, n) => {
      if (typeof value !== 'number') return [];
      const y = row * band + BAR.gap + n * BAR.height;
      const [from, to] = [Math.min(scale(0), scale(value)), Math.max(scale(0), scale(value))];
      return [
        svg(
          'rect',
          { 'data-series': n % 8, x: from, y, width: Math.max(1, to - from), height: BAR.height - 2, rx: 2 },
          svg('title', {}, pointText(point, n, series, drawing, format)),
        ),
        svg('text', { class: 'sv-value', x: scale(Math.max(0, value)) + 4, y: y + BAR.height - 5 }, written(value)),
      ];
    }),
  );
  const names = points.map(({ label }, row) =>
    svg(
      'text',
      { x: left - 8, y: row * band + BAR.gap + (series.length * BAR.height) / 2 + 4, 'text-anchor': 'end' },
      shorten(cellText(label) || '–', Math.floor((left - 8) / letterOf(cellText(label)))),
      svg('title', {}, cellText(label)),
    ),
  );
  const base = svg('line', { class: 'sv-axis', x1: scale(0), x2: scale(0), y1: 0, y2: height });
  return frame(width, height, base, ...names, ...bars);
}

const frame = (width: number, height: number, ...children: SVGElement[]): SVGSVGElement =>
  svg('svg', { width, height, viewBox: `0 0 ${width} ${height}` }, ...children);

function drawLines({ axis, points, series }: ChartData, drawing: Drawing, format: Format, width: number): SVGSVGElement {
  const ticks = ticksFor(numbersOf(points));
  const [low = 0, high = 1] = [ticks[0], ticks.at(-1)];
  const [first = 0, last = 1] = [points[0]?.at, points.at(-1)?.at];
  const span = last - first || 1;
  const tick_texts = ticks.map((tick) => format.axis(tick, drawing.format));
  const left = Math.max(LEFT, widest(tick_texts) + 8);
  const [inner, tall] = [Math.max(40, width - left - RIGHT), HEIGHT - TOP - BOTTOM];
  const x = (at: number) => tenths(left + (points.length === 1 ? inner / 2 : ((at - first) / span) * inner));
  const y = (value: number) => tenths(TOP + tall - ((value - low) / (high - low)) * tall);
  const grid = ticks.flatMap((tick, n) => [
    svg('line', { class: 'sv-grid-line', x1: left, x2: width - RIGHT, y1: y(tick), y2: y(tick) }),
    svg('text', { x: left - 6, y: y(tick) + 4, 'text-anchor': 'end' }, tick_texts[n] ?? ''),
  ]);
  const longest = points.reduce((most, { label }) => Math.max(most, cellText(label).length), 0);
  const of = longest <= MONTH_LENGTH ? 'months' : longest <= DAY_LENGTH ? 'days' : 'moments';
  // Of a year or a number of something each digit counts.
  const labelOf = ({ at, label }: Point): string =>
    axis === 'time' ? format.tick(at, span, of) : shorten(cellText(label), LABEL_LENGTH);
  const room = Math.max(LABEL_PX, widest([points[0], points.at(-1)].flatMap((point) => (point ? [labelOf(point)] : []))) + 8);
  const labels = spread(points, ({ at }) => x(at), { width, room }).map(({ point, is_at_end }) =>
    svg('text', { x: x(point.at), y: HEIGHT - 8, 'text-anchor': is_at_end ? 'end' : 'middle' }, labelOf(point)),
  );
  const lines = series.flatMap((_, n) => {
    const runs = runsOf(points, n);
    // A line to itself is a dot: a value between two that are missing.
    const path = (run: readonly Point[]) =>
      [run[0], ...run].map((point, k) => `${k === 0 ? 'M' : 'L'}${x(point?.at ?? 0)} ${y(point?.values[n] ?? 0)}`).join('');
    const fill = (run: readonly Point[]) => `${path(run)}L${x(run.at(-1)?.at ?? 0)} ${y(0)}L${x(run[0]?.at ?? 0)} ${y(0)}Z`;
    return [
      ...(drawing.kind === 'area' ? [svg('path', { class: 'sv-area', 'data-series': n % 8, d: runs.map(fill).join('') })] : []),
      svg('path', { class: 'sv-line', 'data-series': n % 8, d: runs.map(path).join('') }),
    ];
  });
  const marks =
    points.length * series.length > MARKED
      ? []
      : points.flatMap((point) =>
          point.values.flatMap((value, n) =>
            typeof value !== 'number'
              ? []
              : [
                  svg(
                    'circle',
                    { 'data-series': n % 8, cx: x(point.at), cy: y(value), r: 3.5 },
                    svg('title', {}, pointText(point, n, series, drawing, format)),
                  ),
                ],
          ),
        );
  return frame(width, HEIGHT, ...grid, ...labels, ...lines, ...marks);
}

/** As many points as there is room for labels: they may lie close together, and far from the rest. At its end one is right of its label. */
function spread(points: readonly Point[], x: (point: Point) => number, { width, room }: { width: number; room: number }) {
  let free = Number.NEGATIVE_INFINITY;
  return points.flatMap((point) => {
    const is_at_end = x(point) > width - room / 2;
    const from = x(point) - (is_at_end ? room : room / 2);
    if (from < free) return [];
    free = from + room;
    return [{ point, is_at_end }];
  });
}

const numbersOf = (points: readonly Point[]): number[] =>
  points.flatMap(({ values }) => values.filter((value) => typeof value === 'number'));
/** A picture needs no more digits, and thousands of points are half as long. */
const tenths = (px: number): number => Math.round(px * 10) / 10;

/** A line ends where a value is missing. Where only another series has a row, it goes on. */
function runsOf(points: readonly Point[], series: number): Point[][] {
  const runs: Point[][] = [[]];
  for (const point of points) {
    const value = point.values[series];
    if (value === null) runs.push([]);
    else if (value !== undefined) runs.at(-1)?.push(point);
  }
  return runs.filter((run) => run.length > 0);
}

function pointText(
  { label, values }: Point,
  n: number,
  series: readonly string[],
  { format: style }: Drawing,
  format: Format,
): string {
  return `${cellText(label)}, ${series[n] ?? ''}: ${format.cell(values[n], 'number', style)}`;
}

function partText({ label, value }: Part, parts: readonly Part[], format: Format, { format: style }: Drawing): string {
  const total = parts.reduce((sum, part) => sum + part.value, 0);
  return `${label || '–'}: ${format.cell(value, 'number', style)} (${share(value / total, format)})`;
}

const LEAST_SHARE = 0.001;
const share = (part: number, format: Format): string =>
  part > 0 && part < LEAST_SHARE ? `<${percent(LEAST_SHARE, format)}` : percent(part, format);
const percent = (part: number, format: Format): string => format.cell(part, 'number', 'percent');

const RADIUS = 90;

function drawPie(parts: readonly Part[], format: Format, style: string | null): SVGSVGElement {
  const total = parts.reduce((sum, { value }) => sum + value, 0);
  let turn = 0;
  const slices = parts.map(({ label, value }, n) => {
    const from = turn;
    turn += value / total;
    const title = svg('title', {}, `${label}: ${format.cell(value, 'number', style)}`);
    const at = { class: 'sv-slice', 'data-series': n };
    // A whole circle begins where it ends, which is no arc.
    if (value === total) return svg('circle', { ...at, cx: 0, cy: 0, r: RADIUS }, title);
    const [a, b] = [edge(from), edge(turn)];
    return svg('path', { ...at, d: `M0 0L${a}A${RADIUS} ${RADIUS} 0 ${turn - from > 0.5 ? 1 : 0} 1 ${b}Z` }, title);
  });
  const side = RADIUS * 2 + 8;
  return svg('svg', { width: side, height: side, viewBox: `${-side / 2} ${-side / 2} ${side} ${side}` }, ...slices);
}

const edge = (turn: number): string => {
  const angle = (turn - 0.25) * 2 * Math.PI;
  return `${(Math.cos(angle) * RADIUS).toFixed(2)} ${(Math.sin(angle) * RADIUS).toFixed(2)}`;
};
