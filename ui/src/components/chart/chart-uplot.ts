import UPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { hourTime, weekday } from '#ui/src/kernel/dates.ts';
import { isLonePoint } from '#ui/src/kernel/metrics.ts';
import type { ChartSeries } from './chart.tsx';

export interface Plot {
  resize(width: number, height: number): void;
  /** Seconds since 1970, and the values of each series. */
  show(times: readonly number[], series: readonly ChartSeries[]): void;
  /** Moves the cursor to a point; null: hides it. */
  point(index: number | null): void;
  /** After the theme's colours changed. */
  redraw(): void;
  destroy(): void;
}

interface PlotOptions {
  readonly into: HTMLElement;
  readonly width: number;
  readonly height: number;
  readonly series: readonly ChartSeries[];
  readonly times: readonly number[];
  readonly step_seconds: () => number;
  readonly format: (value: number) => string;
  /** Resolves a token such as `--accent` to a colour for a canvas. */
  readonly colour: (token: string) => string;
  /** Charts with the same key move their cursors together. */
  readonly sync?: string | undefined;
  /** The point below the cursor and its distance in CSS pixels from the left of the plot. */
  readonly onCursor: (at: { readonly index: number; readonly left: number } | null) => void;
  readonly onPick: (index: number) => void;
  /** The range of points that was selected by dragging. */
  readonly onZoom?: ((from: number, to: number) => void) | undefined;
}

export const AXIS_PX = 56;
export const END_PX = 20;
const LEAST_DRAG_PX = 8;
const DAY = 86_400;
/** Least top of the y axis, so that a single call is a small bar. */
const LEAST_TOP = 4;
/** Whole numbers only: calls are counted, and durations are not shown below a millisecond. */
const VALUE_STEPS = Array.from({ length: 10 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();

/** A uPlot in the colours of the theme: a time axis, a value axis, bars and lines. */
export function createPlot(options: PlotOptions): Plot {
  const { colour, format, onCursor, step_seconds } = options;
  const font = `12px ${getComputedStyle(options.into).fontFamily}`;
  const axis = { stroke: () => colour('--ink-faint'), font, ticks: { show: false } } as const;
  const grid = { stroke: () => colour('--line'), width: 1 };
  let picked: number | null = null;

  const toSeries = (series: ChartSeries): UPlot.Series => {
    const { label, token, kind = 'line' } = series;
    const shared = { label, stroke: () => colour(token), spanGaps: true } as const;
    if (kind === 'line') {
      // A line with a single point would be invisible.
      const show = (plot: UPlot, index: number) => isLonePoint(plot.data[index] ?? []);
      const dash = series.ghost === true ? { dash: [5, 4] } : {};
      return { ...shared, ...dash, width: 1.75, points: { show, size: 7, fill: () => colour(token) } };
    }
    const bars = UPlot.paths.bars?.({ size: [0.78, 24], align: 1, gap: 1 });
    return {
      ...shared,
      width: 0,
      fill: () => colour(token),
      points: { show: false },
      ...(bars === undefined ? {} : { paths: bars }),
    };
  };
  const timeTexts = (_: UPlot, splits: number[]): string[] => {
    const long = step_seconds() > 3_600;
    return splits.map((time) => {
      const date = new Date(time * 1_000);
      const midnight = date.getHours() === 0 && date.getMinutes() === 0;
      return long || midnight ? weekday(date) : hourTime(date);
    });
  };

  const plot = new UPlot(
    {
      width: options.width,
      height: options.height,
      // Half of the last time label extends beyond the right end of the axis.
      padding: [8, END_PX, 0, 0],
      legend: { show: false },
      scales: {
        x: { time: true, range: (_, from, to) => [from, to + step_seconds()] },
        y: { range: (_, _least, most) => [0, Math.max(most * 1.08, LEAST_TOP)] },
      },
      cursor: {
        x: true,
        y: false,
        drag: { x: options.onZoom !== undefined, y: false, setScale: false, dist: LEAST_DRAG_PX },
        points: { size: 8, width: 2, stroke: () => colour('--surface') },
        ...(options.sync === undefined ? {} : { sync: { key: options.sync, scales: ['x', null] } }),
      },
      axes: [
        { ...axis, grid: { show: false }, size: 28, space: 64, values: timeTexts, incrs: TIME_STEPS },
        {
          ...axis,
          grid,
          size: AXIS_PX,
          space: 36,
          incrs: VALUE_STEPS,
          values: (_, splits) => splits.map((value) => format(value)),
        },
      ],
      series: [{}, ...options.series.map(toSeries)],
      hooks: {
        setSelect: [
          (self) => {
            const { left, width } = self.select;
            if (width < LEAST_DRAG_PX) return;
            self.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            options.onZoom?.(self.posToIdx(left), self.posToIdx(left + width));
          },
        ],
        setCursor: [
          (self) => {
            const { idx, left = -1 } = self.cursor;
            const index = idx === null || idx === undefined || left < 0 ? null : idx;
            if (index === picked) return;
            picked = index;
            const at = index === null ? undefined : self.data[0][index];
            onCursor(index === null || at === undefined ? null : { index, left: self.valToPos(at, 'x') + self.over.offsetLeft });
          },
        ],
      },
    },
    toData(options.times, options.series),
    options.into,
  );
  plot.over.addEventListener('click', () => {
    if (picked !== null) options.onPick(picked);
  });

  return {
    resize: (width, height) => plot.setSize({ width, height }),
    show: (times, series) => plot.setData(toData(times, series)),
    point(index) {
      const at = index === null ? undefined : plot.data[0][index];
      if (at === undefined) plot.setCursor({ left: -10, top: -10 });
      else plot.setCursor({ left: plot.valToPos(at, 'x'), top: plot.over.clientHeight / 2 });
    },
    redraw: () => plot.redraw(false, true),
    destroy: () => plot.destroy(),
  };
}

const TIME_STEPS = [60, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 14_400, 21_600, DAY / 2, DAY, 2 * DAY];

const toData = (times: readonly number[], series: readonly ChartSeries[]): UPlot.AlignedData => [
  [...times],
  ...series.map(({ values }) => [...values]),
];
