import { createMemo } from 'solid-js';
import { Chart, type ChartSeries } from '#ui/src/components/chart/chart.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { callsHref, INTERVAL_SECONDS, metricsHref, type Period, type Series } from '#ui/src/kernel/metrics.ts';
import { PERIOD_WORDS } from '#ui/src/kernel/metrics-words.ts';
import { count } from '#ui/src/kernel/numbers.ts';

/** How much was called and failed over the period. */
export function TrafficPanel(props: { period: Period; series: Series | undefined }) {
  const { router } = useKernel();
  const points = () => props.series?.points ?? [];
  const step = () => props.series?.interval_seconds ?? INTERVAL_SECONDS[props.period];
  const times = createMemo(() => points().map(({ timestamp }) => Date.parse(timestamp)));
  const series = createMemo<ChartSeries[]>(() => [
    { label: 'Calls', token: '--accent', kind: 'bars', values: points().map(({ calls }) => calls) },
    { label: 'Errors', token: '--bad', kind: 'bars', values: points().map(({ errors }) => errors) },
  ]);
  const pick = (index: number) => {
    const from = times()[index];
    if (from === undefined) return;
    router.navigate(callsHref({ from: new Date(from).toISOString(), until: new Date(from + step() * 1_000).toISOString() }));
  };
  return (
    <Panel
      title="Calls and errors"
      actions={
        <LinkButton href={metricsHref(props.period)} kind="quiet" size="small">
          Metrics
        </LinkButton>
      }
      flush
    >
      <div class="panel-body">
        <Chart
          label={`Calls and errors, last ${PERIOD_WORDS[props.period]}`}
          times={times()}
          step_seconds={step()}
          series={series()}
          format={count}
          height={180}
          empty="No calls in this period."
          onPick={pick}
        />
      </div>
    </Panel>
  );
}
