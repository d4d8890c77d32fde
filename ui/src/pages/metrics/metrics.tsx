import { createMemo, Show } from 'solid-js';
import { SegmentedControl } from '#ui/src/components/form/choice.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { ProblemNotice } from '#ui/src/components/notice.tsx';
import { Skeleton } from '#ui/src/components/skeleton.tsx';
import { Stat, StatGrid } from '#ui/src/components/show/stat.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { callsHref, errorTone, fromKey, PERIODS, toRows, topBy, totalsOf } from '#ui/src/kernel/metrics.ts';
import { PERIOD_WORDS } from '#ui/src/kernel/metrics-words.ts';
import { createSearchParams, oneOf, text } from '#ui/src/kernel/route/search-params.ts';
import { createSelection } from '#ui/src/kernel/selection.ts';
import { count, duration, percent } from '#ui/src/kernel/words.ts';
import { ComparePanel } from './compare-panel.tsx';
import { SeriesPanel } from './series-panel.tsx';
import { UsageTable } from './usage-table.tsx';
import { WORDS } from './words.ts';
import './metrics.css';

const POLL_MS = 15_000;
const MINUTES = { '1h': 60, '6h': 360, '24h': 1_440, '7d': 10_080 } as const;

/** Tools, resources and prompts, how long it took, what failed: everything, or one tool beside others. */
export function Metrics() {
  const { router } = useKernel();
  // The newest day first: who looks has usually heard of something today.
  const params = createSearchParams(router, { period: oneOf(['24h', '1h', '6h', '7d']), of: text() });
  const period = () => params.get('period');
  const stats = useQuery((read) => read('metrics.stats', { period: period() }), { every_ms: POLL_MS, watch: period });
  const rows = createMemo(() => {
    const given = stats.data();
    return given === undefined ? undefined : toRows(given);
  });
  const chosen = () => fromKey(params.get('of'));
  const chosenRow = () => rows()?.find(({ key }) => key === params.get('of'));
  const compared = createSelection();

  return (
    <Page
      title="Metrics"
      lead="Calls, errors and durations."
      actions={
        <SegmentedControl
          label="Period"
          value={period()}
          onChange={(value) => params.set({ period: value })}
          options={PERIODS.map((value) => ({ value, label: value }))}
        />
      }
    >
      <Show when={stats.problem()}>{(problem) => <ProblemNotice problem={problem()} onRetry={() => void stats.reload()} />}</Show>
      <Figures rows={rows()} period={period()} />
      <SeriesPanel
        period={period()}
        of={chosen()}
        usage={chosenRow()}
        refreshed={stats.data()}
        onBack={() => params.clear('of')}
      />
      <Show when={compared.count() > 1}>
        <ComparePanel period={period()} keys={[...compared.ids()]} refreshed={stats.data()} />
      </Show>
      <UsageTable
        rows={rows()}
        period={period()}
        current={params.get('of')}
        selection={compared}
        onOpen={(row) => {
          params.set({ of: row.key === params.get('of') ? '' : row.key });
          document.querySelector('#main')?.scrollIntoView({ block: 'start' });
        }}
      />
    </Page>
  );
}

function Figures(props: { rows: ReturnType<typeof toRows> | undefined; period: keyof typeof MINUTES }) {
  const total = () => totalsOf(props.rows ?? []);
  const slowest = () => topBy(props.rows ?? [], 'p95_ms', 1)[0];
  const known = (text: () => string) => (
    <Show when={props.rows} fallback={<Skeleton width="half" height="1.75rem" />}>
      {text()}
    </Show>
  );
  return (
    <StatGrid>
      <Stat
        label={WORDS.calls}
        value={known(() => count(total().calls))}
        hint={`${(total().calls / MINUTES[props.period]).toFixed(1)} a minute`}
        href={callsHref({ range: props.period })}
      />
      <Stat
        label={WORDS.errors}
        value={known(() => count(total().errors))}
        hint={`${percent(total().error_rate)} of calls`}
        tone={total().errors === 0 ? 'plain' : errorTone(total().error_rate)}
        href={callsHref({ outcome: 'failed', range: props.period })}
      />
      <Stat
        label="Average"
        value={known(() => (total().calls === 0 ? '–' : duration(total().avg_ms)))}
        hint={PERIOD_WORDS[props.period]}
      />
      <Stat
        label="Highest p95"
        value={known(() => (total().calls === 0 ? '–' : duration(slowest()?.p95_ms ?? 0)))}
        hint={<span class="mono">{slowest()?.name ?? 'No calls'}</span>}
      />
    </StatGrid>
  );
}
