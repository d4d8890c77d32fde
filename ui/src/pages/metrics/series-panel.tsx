import { createMemo, For, Show } from 'solid-js';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { Chart, type ChartSeries } from '#ui/src/components/chart/chart.tsx';
import { Link, LinkButton } from '#ui/src/components/link.tsx';
import { ProblemNotice } from '#ui/src/components/notice.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { Ago } from '#ui/src/components/time.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { callsHref, INTERVAL_SECONDS, type Kind, type Period, startOf, type UsageRow } from '#ui/src/kernel/metrics.ts';
import { errorWord, KIND_WORDS, PERIOD_WORDS } from '#ui/src/kernel/metrics-words.ts';
import { count, duration } from '#ui/src/kernel/words.ts';
import { WORDS } from './words.ts';

interface SeriesProps {
  period: Period;
  /** Undefined: everything. */
  of: { readonly kind: Kind; readonly name: string } | undefined;
  usage: UsageRow | undefined;
  /** Whatever changes when figures were read again. */
  refreshed: unknown;
  onBack: () => void;
}

/** Calls, errors and durations over time, of everything or of one thing with its newest failures. */
export function SeriesPanel(props: SeriesProps) {
  const { router, session } = useKernel();
  const series = useQuery(
    (read) =>
      read('metrics.timeseries', {
        period: props.period,
        interval_seconds: INTERVAL_SECONDS[props.period],
        ...(props.of === undefined ? {} : { tool: props.of.name, kind: props.of.kind }),
      }),
    { watch: () => [props.period, props.of?.kind, props.of?.name, props.refreshed] },
  );
  const points = () => series.data()?.points ?? [];
  const times = createMemo(() => points().map(({ timestamp }) => Date.parse(timestamp)));
  const step = () => series.data()?.interval_seconds ?? INTERVAL_SECONDS[props.period];
  const counted = createMemo<ChartSeries[]>(() => [
    { label: WORDS.calls, token: '--water', kind: 'bars', values: points().map(({ calls }) => calls) },
    { label: WORDS.errors, token: '--bad', kind: 'bars', values: points().map(({ errors }) => errors) },
  ]);
  const timed = createMemo<ChartSeries[]>(() =>
    (
      [
        ['p99', '--line-strong', 'p99_ms'],
        ['p95', '--brass', 'p95_ms'],
        [WORDS.median, '--water', 'p50_ms'],
      ] as const
    ).map(([label, token, field]) => ({
      label,
      token,
      values: points().map((point) => (point.calls === 0 ? null : point[field])),
    })),
  );
  const what = () => props.of?.name ?? WORDS.everything.toLowerCase();
  const pick = (index: number) => {
    const from = times()[index];
    if (from === undefined || !session.may('logs.list')) return;
    router.navigate(
      callsHref({
        ...props.of,
        from: new Date(from).toISOString(),
        until: new Date(from + step() * 1_000).toISOString(),
      }),
    );
  };

  return (
    <Panel
      title={props.of?.name ?? WORDS.everything}
      actions={
        <Show when={props.of}>
          {(of) => (
            <div class="row">
              <Badge>{KIND_WORDS[of().kind]}</Badge>
              <Show when={props.usage?.id}>
                {(id) => (
                  <LinkButton kind="quiet" size="small" href={`/${of().kind}s/${id()}`}>
                    {`Open the ${of().kind}`}
                  </LinkButton>
                )}
              </Show>
              <LinkButton kind="quiet" size="small" href={callsHref({ ...of(), range: props.period })}>
                View calls
              </LinkButton>
              <Button kind="quiet" size="small" onPress={() => props.onBack()}>
                Show all calls
              </Button>
            </div>
          )}
        </Show>
      }
    >
      <div class="panel-body metrics-charts">
        <Show when={series.problem()}>
          {(problem) => <ProblemNotice problem={problem()} onRetry={() => void series.reload()} />}
        </Show>
        <Chart
          label={`Calls and errors of ${what()}, last ${PERIOD_WORDS[props.period]}`}
          times={times()}
          step_seconds={step()}
          series={counted()}
          format={count}
          sync="metrics"
          empty={WORDS.empty_title}
          onPick={pick}
        />
        <Chart
          label={`Durations of ${what()}, last ${PERIOD_WORDS[props.period]}`}
          times={times()}
          step_seconds={step()}
          series={timed()}
          format={duration}
          sync="metrics"
          empty={WORDS.empty_title}
          onPick={pick}
        />
      </div>
      <Show when={session.may('logs.list') && props.of}>
        {(of) => <Failures of={of()} period={props.period} refreshed={props.refreshed} />}
      </Show>
    </Panel>
  );
}

const SHOWN = 5;

function Failures(props: { of: { readonly kind: Kind; readonly name: string }; period: Period; refreshed: unknown }) {
  const failures = useQuery(
    (read) => read('logs.list', { ...props.of, success: false, since: startOf(props.period, Date.now()), limit: SHOWN }),
    { watch: () => [props.of.kind, props.of.name, props.period, props.refreshed] },
  );
  return (
    <div class="metrics-failures">
      <h3>Latest errors</h3>
      <ul>
        <For each={failures.data()?.items} fallback={<li class="soft small">No errors in this period.</li>}>
          {(entry) => (
            <li>
              <span>{errorWord(entry.error)}</span>
              <span class="faint small num">{duration(entry.duration_ms)}</span>
              <span class="faint small truncate">{entry.client ?? ''}</span>
              <span class="faint small">
                <Ago iso={entry.timestamp} />
              </span>
            </li>
          )}
        </For>
      </ul>
      <Show when={(failures.data()?.total ?? 0) > SHOWN}>
        <Link href={callsHref({ ...props.of, outcome: 'failed', range: props.period })}>View all errors</Link>
      </Show>
    </div>
  );
}
