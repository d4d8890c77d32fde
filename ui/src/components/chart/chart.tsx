import { createEffect, createMemo, createSignal, createUniqueId, For, Index, on, onCleanup, onMount, Show } from 'solid-js';
import { pointTime } from '#ui/src/kernel/dates.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import type { Plot } from './chart-uplot.ts';
import { type ChartMark, Marks } from './chart-marks.tsx';
import './chart.css';

export interface ChartSeries {
  readonly label: string;
  /** A colour token such as `--accent`. */
  readonly token: string;
  readonly kind?: 'line' | 'bars';
  readonly values: readonly (number | null)[];
  /** A series of another period, for comparison: a dashed line. */
  readonly ghost?: boolean;
}

interface ChartProps {
  /** Accessible name, a sentence without a full stop: `Calls and errors, 24 hours`. */
  label: string;
  /** Start of each point, milliseconds since 1970. */
  times: readonly number[];
  step_seconds: number;
  series: readonly ChartSeries[];
  format: (value: number) => string;
  height?: number;
  sync?: string;
  /** Text shown instead of an empty chart. */
  empty?: string;
  /** A point was pressed, or Enter on it. */
  onPick?: (index: number) => void;
  /** A range was selected by dragging, or by + and − on a point: indexes of its first and last point. */
  onZoom?: ((from: number, to: number) => void) | undefined;
  /** Events on the time axis, such as deploys. */
  marks?: readonly ChartMark[];
}

const KEYS: Readonly<Record<string, (index: number, last: number) => number>> = {
  ArrowRight: (index, last) => Math.min(last, index + 1),
  ArrowLeft: (index) => Math.max(0, index - 1),
  Home: () => 0,
  End: (_, last) => last,
};

/** Values over time. The arrow keys move from point to point, and the values are a table as well. */
export function Chart(props: ChartProps) {
  const { theme } = useKernel();
  const id = createUniqueId();
  const [cursor, setCursor] = createSignal<{ index: number; left: number } | null>(null);
  const [width, setWidth] = createSignal(0);
  const [tabled, setTabled] = createSignal(false);
  const [failed, setFailed] = createSignal(false);
  const height = () => props.height ?? 220;
  let frame: HTMLDivElement | undefined;
  let probe: HTMLSpanElement | undefined;
  let plot: Plot | undefined;
  let gone = false;

  const colour = (token: string): string => {
    if (probe === undefined) return 'gray';
    probe.style.color = `var(${token})`;
    return getComputedStyle(probe).color;
  };
  /** Only a change of labels or kinds requires a new plot. */
  const shape = createMemo(() => props.series.map(({ label, kind }) => `${label}/${kind}`).join());
  const make = async () => {
    const made = await import('./chart-uplot.ts').catch(() => undefined);
    if (gone || frame === undefined) return;
    if (made === undefined) {
      setFailed(true);
      return;
    }
    plot?.destroy();
    plot = made.createPlot({
      into: frame,
      width: frame.clientWidth,
      height: height(),
      series: props.series,
      times: props.times.map(toSeconds),
      step_seconds: () => props.step_seconds,
      format: (value) => props.format(value),
      colour,
      sync: props.sync,
      onCursor: setCursor,
      onPick: (index) => props.onPick?.(index),
      onZoom: props.onZoom === undefined ? undefined : (from, to) => props.onZoom?.(from, to),
    });
  };

  onMount(() => {
    const sizes = new ResizeObserver(([entry]) => {
      const next = Math.floor(entry?.contentRect.width ?? 0);
      if (next === 0 || next === width()) return;
      setWidth(next);
      plot?.resize(next, height());
    });
    if (frame !== undefined) sizes.observe(frame);
    const scheme = window.matchMedia('(prefers-color-scheme: dark)');
    const recolour = () => plot?.redraw();
    scheme.addEventListener('change', recolour);
    onCleanup(() => {
      gone = true;
      sizes.disconnect();
      scheme.removeEventListener('change', recolour);
      plot?.destroy();
    });
  });
  createEffect(on(shape, () => void make()));
  createEffect(
    on([() => props.times, () => props.series], ([times, series]) => plot?.show(times.map(toSeconds), series), { defer: true }),
  );
  // The theme is an attribute of the root element; colours change once it is set.
  createEffect(on(theme.theme, () => queueMicrotask(() => plot?.redraw()), { defer: true }));

  const last = () => props.times.length - 1;
  const press = (event: KeyboardEvent) => {
    const index = cursor()?.index;
    if (event.key === 'Enter' && index !== undefined) return props.onPick?.(index);
    if (event.key === 'Escape') return plot?.point(null);
    if ((event.key === '+' || event.key === '-') && index !== undefined && props.onZoom !== undefined) {
      event.preventDefault();
      // Zooms to a third of the range, or to three times the range.
      const part = event.key === '+' ? Math.max(1, Math.floor(last() / 6)) : Math.ceil(last() * 1.5);
      return props.onZoom(index - part, index + part);
    }
    const move = KEYS[event.key];
    if (move === undefined) return;
    event.preventDefault();
    plot?.point(index === undefined ? last() : move(index, last()));
  };
  const at = () => cursor()?.index;
  const said = () => {
    const index = at();
    if (index === undefined) return '';
    return [timeOf(props.times[index]), ...props.series.map((one) => `${one.label} ${valueOf(one, index, props.format)}`)].join(
      ', ',
    );
  };

  return (
    <figure class="chart">
      <ul class="chart-legend" aria-hidden="true">
        <Index each={props.series}>
          {(one) => (
            <li>
              <span class="chart-key" data-kind={one().ghost === true ? 'ghost' : one().kind} data-token={one().token} />
              {one().label}
            </li>
          )}
        </Index>
      </ul>
      <div
        class="chart-frame"
        role="group"
        aria-roledescription="chart"
        aria-label={props.label}
        aria-describedby={`${id}-help`}
        tabindex="0"
        style={{ height: `${height()}px` }}
        onKeyDown={press}
        onBlur={() => plot?.point(null)}
      >
        <div ref={(element) => (frame = element)} class="chart-canvas" aria-hidden="true" />
        <Show when={cursor()}>
          {(point) => (
            <div
              class="chart-tip"
              aria-hidden="true"
              data-side={point().left > width() / 2 ? 'left' : 'right'}
              style={{ left: `${point().left}px` }}
            >
              <p class="chart-tip-time">{timeOf(props.times[point().index])}</p>
              <For each={props.series}>
                {(one) => (
                  <p>
                    <span class="chart-key" data-kind={one.ghost === true ? 'ghost' : one.kind} data-token={one.token} />
                    <span>{one.label}</span>
                    <b class="num">{valueOf(one, point().index, props.format)}</b>
                  </p>
                )}
              </For>
            </div>
          )}
        </Show>
        <Show when={props.times.length > 0 && isBlank(props.series) ? props.empty : undefined}>
          {(sentence) => <p class="chart-empty">{sentence()}</p>}
        </Show>
        <span class="chart-probe" ref={(element) => (probe = element)} hidden />
      </div>
      <Show when={props.marks}>
        {(marks) => (
          <Marks
            marks={marks()}
            width={width()}
            from={props.times[0]}
            until={(props.times.at(-1) ?? 0) + props.step_seconds * 1_000}
          />
        )}
      </Show>
      <p id={`${id}-help`} class="visually-hidden">
        Left and right arrow keys move from point to point.{props.onZoom === undefined ? '' : ' Plus and minus zoom in and out.'}
      </p>
      <p class="visually-hidden" role="status">
        {said()}
      </p>
      <Show when={failed()}>
        <p class="small soft">The chart couldn’t be loaded. Reload the page, or use the table.</p>
      </Show>
      <details class="chart-table" onToggle={(event) => setTabled(event.currentTarget.open)}>
        <summary>Show as table</summary>
        <Show when={tabled()}>
          <FigureTable {...props} />
        </Show>
      </details>
    </figure>
  );
}

function FigureTable(props: ChartProps) {
  const points = () => props.times.map((_, index) => index).toReversed();
  return (
    <div class="chart-rows" role="region" tabindex="0" aria-label={`${props.label}: table`}>
      <table>
        <caption class="visually-hidden">{props.label}</caption>
        <thead>
          <tr>
            <th scope="col">From</th>
            <For each={props.series}>{(one) => <th scope="col">{one.label}</th>}</For>
          </tr>
        </thead>
        <tbody>
          <For each={points()}>
            {(index) => (
              <tr>
                <th scope="row">{timeOf(props.times[index])}</th>
                <For each={props.series}>{(one) => <td class="num">{valueOf(one, index, props.format)}</td>}</For>
              </tr>
            )}
          </For>
        </tbody>
      </table>
    </div>
  );
}

const isBlank = (series: readonly ChartSeries[]): boolean =>
  series.every(({ values }) => values.every((value) => value === null || value === 0));
const toSeconds = (ms: number): number => ms / 1_000;
const timeOf = (ms: number | undefined): string => (ms === undefined ? '' : pointTime(ms));

function valueOf({ values }: ChartSeries, index: number, format: (value: number) => string): string {
  const value = values[index];
  return value === null || value === undefined ? '–' : format(value);
}
