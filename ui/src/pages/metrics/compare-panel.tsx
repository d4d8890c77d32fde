import { createMemo, createSignal, Show } from 'solid-js';
import { Chart, type ChartSeries } from '#ui/src/components/chart/chart.tsx';
import { SegmentedControl } from '#ui/src/components/form/choice.tsx';
import { Failed } from '#ui/src/components/notice.tsx';
import { Aging } from '#ui/src/components/show/aging.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import type { Read } from '#ui/src/kernel/data/cache.ts';
import { type CallerFilter, fromKey, type Kind, type Range, type Series, seriesInput } from '#ui/src/kernel/metrics.ts';
import { rangeWords } from '#ui/src/kernel/metrics-words.ts';
import { count } from '#ui/src/kernel/numbers.ts';
import { duration } from '#ui/src/kernel/words.ts';

const TOKENS = ['--accent', '--warning', '--good', '--bad', '--ink-faint'] as const;
const METRICS = [
  { value: 'calls', label: 'Calls', format: count },
  { value: 'errors', label: 'Errors', format: count },
  { value: 'p50_ms', label: 'p50', format: duration },
  { value: 'p95_ms', label: 'p95', format: duration },
  { value: 'p99_ms', label: 'p99', format: duration },
] as const;
type Metric = (typeof METRICS)[number]['value'];

/** One metric of several things in one drawing. */
export function ComparePanel(props: { range: Range; filter: CallerFilter; keys: readonly string[]; refreshed: unknown }) {
  const [metric, setMetric] = createSignal<Metric>('calls');
  const shown = () => METRICS.find(({ value }) => value === metric()) ?? METRICS[0];
  const compared = () => props.keys.flatMap((key) => fromKey(key) ?? []).slice(0, TOKENS.length);
  const loadOne = async (read: Read, whose: Pick<typeof props, 'range' | 'filter'>, of: { kind: Kind; name: string }) => {
    const { kind, name } = of;
    const answer = await read('metrics.timeseries', { ...seriesInput(whose.range), ...whose.filter, tool: name, kind });
    return { name, points: answer.points, step: answer.interval_seconds };
  };
  const all = useQuery(
    (read) => {
      const whose = { range: props.range, filter: props.filter };
      return Promise.all(compared().map((of) => loadOne(read, whose, of)));
    },
    {
      watch: () => [rangeWords(props.range), JSON.stringify(props.filter), props.keys.join()],
      again: () => props.refreshed,
    },
  );
  const times = createMemo(() => (all.data()?.[0]?.points ?? []).map(({ timestamp }) => Date.parse(timestamp)));
  const series = createMemo<ChartSeries[]>(() =>
    (all.data() ?? []).map(({ name, points }, index) => ({
      label: name,
      token: TOKENS[index] ?? TOKENS[0],
      values: points.map((point) => valueAt(point, metric())),
    })),
  );
  return (
    <Panel title="Compare" actions={<SegmentedControl label="Metric" value={metric()} onChange={setMetric} options={METRICS} />}>
      <Failed of={all} />
      <Aging of={all}>
        <Chart
          label={`Compare: ${shown().label}, ${rangeWords(props.range)}`}
          times={times()}
          step_seconds={all.data()?.[0]?.step ?? 60}
          series={series()}
          format={shown().format}
        />
      </Aging>
      <Show when={props.keys.length > TOKENS.length}>
        <p class="small faint">Only the first five are compared.</p>
      </Show>
    </Panel>
  );
}

const valueAt = (point: Series['points'][number], metric: Metric): number | null =>
  metric.endsWith('_ms') && point.calls === 0 ? null : point[metric];
