import { createMemo, For, Show } from 'solid-js';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { Chart, type ChartSeries } from '#ui/src/components/chart/chart.tsx';
import type { ChartMark } from '#ui/src/components/chart/chart-marks.tsx';
import { Link, LinkButton } from '#ui/src/components/link.tsx';
import { Failed } from '#ui/src/components/notice.tsx';
import { Aging } from '#ui/src/components/show/aging.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { Ago } from '#ui/src/components/time.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import {
  callsHref,
  callsRange,
  type CallerFilter,
  callsFilter,
  isPeriod,
  type Kind,
  type Range,
  type Series,
  seriesInput,
  startOf,
  type UsageRow,
} from '#ui/src/kernel/metrics.ts';
import { errorWord, rangeWords } from '#ui/src/kernel/metrics-words.ts';
import { minuteTime } from '#ui/src/kernel/dates.ts';
import { count } from '#ui/src/kernel/numbers.ts';
import { capital, duration } from '#ui/src/kernel/words.ts';

interface SeriesProps {
  range: Range;
  filter: CallerFilter;
  compare: boolean;
  /** Undefined: everything. */
  of: { readonly kind: Kind; readonly name: string } | undefined;
  usage: UsageRow | undefined;
  /** Changes when the metrics reload. */
  refreshed: unknown;
  onBack: () => void;
  onZoom: (range: { since: string; until: string }) => void;
}

/** Calls, errors and durations over time, for everything or for one definition with its latest errors. */
export function SeriesPanel(props: SeriesProps) {
  const { router, session } = useKernel();
  const series = useQuery(
    (read) =>
      read('metrics.timeseries', {
        ...seriesInput(props.range),
        ...props.filter,
        ...(props.compare ? { compare: true } : {}),
        ...(props.of === undefined ? {} : { tool: props.of.name, kind: props.of.kind }),
      }),
    {
      watch: () => [rangeWords(props.range), JSON.stringify(props.filter), props.compare, props.of?.kind, props.of?.name],
      again: () => props.refreshed,
    },
  );
  const points = () => series.data()?.points ?? [];
  const times = createMemo(() => points().map(({ timestamp }) => Date.parse(timestamp)));
  const step = () => series.data()?.interval_seconds ?? 60;
  const before = () => series.data()?.previous?.points;
  const marks = createMemo(() => (series.data()?.deploys ?? []).map(toMark));
  const counted = createMemo<ChartSeries[]>(() => [
    { label: 'Calls', token: '--accent', kind: 'bars', values: points().map(({ calls }) => calls) },
    { label: 'Errors', token: '--bad', kind: 'bars', values: points().map(({ errors }) => errors) },
    ...ghostOf(before(), 'Calls before', ({ calls }) => calls),
  ]);
  const timed = createMemo<ChartSeries[]>(() => [
    ...(
      [
        ['p99', '--line-strong', 'p99_ms'],
        ['p95', '--warning', 'p95_ms'],
        ['p50', '--accent', 'p50_ms'],
      ] as const
    ).map(([label, token, field]) => ({
      label,
      token,
      values: points().map((point) => (point.calls === 0 ? null : point[field])),
    })),
    ...ghostOf(before(), 'p95 before', ({ calls, p95_ms }) => (calls === 0 ? null : p95_ms)),
  ]);
  const what = () => props.of?.name ?? 'all calls';
  const pick = (index: number) => {
    const from = times()[index];
    const whose = callsFilter(props.filter);
    if (from === undefined || whose === undefined || !session.may('logs.list')) return;
    router.navigate(
      callsHref({
        ...props.of,
        ...whose,
        from: new Date(from).toISOString(),
        until: new Date(from + step() * 1_000).toISOString(),
      }),
    );
  };

  const zoom = (from: number, to: number) => {
    const [first] = times();
    if (first === undefined) return;
    const step_ms = step() * 1_000;
    props.onZoom({
      since: new Date(first + from * step_ms).toISOString(),
      until: new Date(Math.min(Date.now(), first + (to + 1) * step_ms)).toISOString(),
    });
  };

  const drawn = (title: string, lines: () => readonly ChartSeries[], format: (value: number) => string) => (
    <Chart
      label={`${title} of ${what()}, ${rangeWords(props.range)}`}
      times={times()}
      step_seconds={step()}
      series={lines()}
      format={format}
      sync="metrics"
      empty="No calls in this period"
      onPick={pick}
      onZoom={zoom}
      marks={marks()}
    />
  );

  return (
    <Panel
      title={props.of?.name ?? 'All calls'}
      actions={
        <Show when={props.of}>
          {(of) => (
            <div class="row">
              <Badge>{capital(of().kind)}</Badge>
              <Show when={props.usage?.id}>
                {(id) => (
                  <LinkButton kind="quiet" size="small" href={`/${of().kind}s/${id()}`}>
                    {`Open the ${of().kind}`}
                  </LinkButton>
                )}
              </Show>
              <Show when={callsFilter(props.filter)}>
                {(whose) => (
                  <LinkButton kind="quiet" size="small" href={callsHref({ ...of(), ...whose(), ...callsRange(props.range) })}>
                    View calls
                  </LinkButton>
                )}
              </Show>
              <Button kind="quiet" size="small" onPress={() => props.onBack()}>
                Show all calls
              </Button>
            </div>
          )}
        </Show>
      }
      flush
    >
      <div class="panel-body metrics-charts">
        <Failed of={series} />
        <Show when={series.data() !== undefined || series.problem() === undefined}>
          <Aging of={series}>
            {drawn('Calls and errors', counted, count)}
            {drawn('Durations', timed, duration)}
          </Aging>
        </Show>
      </div>
      <Show when={session.may('logs.list') && callsFilter(props.filter) && props.of}>
        {(of) => <Failures of={of()} whose={callsFilter(props.filter) ?? {}} range={props.range} refreshed={props.refreshed} />}
      </Show>
    </Panel>
  );
}

type Point = Series['points'][number];

/** The points of the previous period, as a line to compare with. */
const ghostOf = (points: readonly Point[] | undefined, label: string, read: (point: Point) => number | null): ChartSeries[] =>
  points === undefined ? [] : [{ label, token: '--ink-faint', ghost: true, values: points.map(read) }];

function toMark({ version, from_version, at, note, by, restored }: Series['deploys'][number]): ChartMark {
  const sentence = `Version ${version} ${restored ? 'restored' : 'deployed'} by ${by}, ${minuteTime(at)}`;
  const query = from_version === null ? '' : `&from=${from_version}&to=${version}`;
  return {
    time: Date.parse(at),
    label: `v${version}`,
    text: note === null ? sentence : `${sentence}: ${note}`,
    href: `/deploy?view=versions${query}`,
  };
}

const sinceOf = (range: Range) => (isPeriod(range) ? { since: startOf(range, Date.now()) } : range);

const SHOWN = 5;

interface FailuresProps {
  of: { readonly kind: Kind; readonly name: string };
  whose: { readonly client?: string };
  range: Range;
  refreshed: unknown;
}

function Failures(props: FailuresProps) {
  const failures = useQuery(
    (read) => read('logs.list', { ...props.of, ...props.whose, success: false, ...sinceOf(props.range), limit: SHOWN }),
    {
      watch: () => [props.of.kind, props.of.name, props.whose.client, rangeWords(props.range)],
      again: () => props.refreshed,
    },
  );
  // The memo keeps equal lists identical; otherwise each poll would recreate the fallback.
  const entries = createMemo(() => failures.data()?.items);
  return (
    <div class="metrics-failures">
      <h3>Latest errors</h3>
      <Failed of={failures} />
      <Aging of={failures}>
        <ul>
          <For
            each={entries()}
            fallback={
              <Show when={failures.data()}>
                <li class="soft small">No errors in this time.</li>
              </Show>
            }
          >
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
      </Aging>
      <Show when={(failures.data()?.total ?? 0) > SHOWN}>
        <Link href={callsHref({ ...props.of, ...props.whose, outcome: 'failed', ...callsRange(props.range) })}>
          View all errors
        </Link>
      </Show>
    </div>
  );
}
