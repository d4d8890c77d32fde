import { createMemo, createSignal, For, Match, Show, Switch } from 'solid-js';
import { StatusDot, type Tone } from '#ui/src/components/badge.tsx';
import { Spark } from '#ui/src/components/chart-spark.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Notice, ProblemNotice } from '#ui/src/components/notice.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { Stat, StatGrid } from '#ui/src/components/stat.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { callsHref } from '#ui/src/kernel/metrics.ts';
import { keepSamples, type QueueMetrics, queueState, type QueueState, type Sample } from '#ui/src/kernel/metrics-queue.ts';
import { count, duration } from '#ui/src/kernel/words.ts';
import { WORDS } from './words.ts';
import './queue.css';

const POLL_MS = 2_000;
const MOST = 500;
const STATE = {
  idle: { word: WORDS.idle, tone: 'plain' },
  calm: { word: WORDS.calm, tone: 'good' },
  busy: { word: WORDS.busy, tone: 'water' },
  full: { word: WORDS.full, tone: 'brass' },
} as const satisfies Record<QueueState, { word: string; tone: Tone }>;

/** What runs and waits on each connection, live. */
export function Queue() {
  const { call } = useKernel();
  const [samples, setSamples] = createSignal<ReadonlyMap<string, readonly Sample[]>>(new Map());
  const connections = useQuery((signal) => call('connections.list', { limit: MOST }, signal));
  const queues = useQuery(
    async (signal) => {
      const answer = await call('queue.metrics', {}, signal);
      setSamples((kept) => keepSamples(kept, answer.connections));
      return answer.connections;
    },
    { every_ms: POLL_MS },
  );
  const rows = createMemo(() =>
    (connections.data()?.items ?? [])
      .map((connection) => ({ connection, queue: queues.data()?.[connection.id] }))
      .toSorted((a, b) => load(b.queue) - load(a.queue)),
  );
  return (
    <Page title={WORDS.title} lead={WORDS.lead}>
      <Show when={connections.problem() ?? queues.problem()}>{(problem) => <ProblemNotice problem={problem()} />}</Show>
      <Switch fallback={<SkeletonList rows={3} label={WORDS.title} />}>
        <Match when={connections.data()?.total === 0}>
          <Panel title={WORDS.title}>
            <EmptyState
              icon="database"
              title={WORDS.empty}
              action={<LinkButton href="/connections/new">{WORDS.connect}</LinkButton>}
            >
              {WORDS.empty_text}
            </EmptyState>
          </Panel>
        </Match>
        <Match when={connections.data() && queues.data()}>
          <div class="stack">
            <For each={rows().map(({ connection }) => connection.id)}>
              {(id) => (
                <Show when={rows().find(({ connection }) => connection.id === id)}>
                  {(row) => (
                    <QueuePanel
                      id={id}
                      name={row().connection.name}
                      detail={row().connection.db_type}
                      queue={row().queue}
                      samples={samples().get(id) ?? []}
                    />
                  )}
                </Show>
              )}
            </For>
          </div>
        </Match>
      </Switch>
    </Page>
  );
}

const load = (queue: QueueMetrics | undefined): number => (queue === undefined ? -1 : queue.waiting * 1_000 + queue.active);

function QueuePanel(props: {
  id: string;
  name: string;
  detail: string;
  queue: QueueMetrics | undefined;
  samples: readonly Sample[];
}) {
  const state = () => queueState(props.queue);
  return (
    <Panel
      title={props.name}
      lead={props.queue === undefined ? WORDS.idle_hint : undefined}
      actions={
        <div class="row">
          <StatusDot tone={STATE[state()].tone} label={STATE[state()].word} />
          <LinkButton kind="quiet" size="small" href={callsHref({ connection: props.id, range: '24h' })}>
            {WORDS.calls}
          </LinkButton>
          <LinkButton kind="quiet" size="small" href={`/connections/${props.id}`}>
            {WORDS.settings}
          </LinkButton>
        </div>
      }
    >
      <Show when={props.queue}>
        {(queue) => (
          <div class="panel-body stack">
            <Bar active={queue().active} waiting={queue().waiting} limit={queue().limit} />
            <StatGrid>
              <Stat
                label={WORDS.running}
                value={WORDS.of(queue().active, queue().limit)}
                spark={<Spark values={props.samples.map(({ active }) => active)} />}
              />
              <Stat
                label={WORDS.waiting}
                value={count(queue().waiting)}
                tone={queue().waiting > 0 ? 'brass' : 'plain'}
                spark={<Spark values={props.samples.map(({ waiting }) => waiting)} tone="brass" />}
              />
              <Stat
                label={WORDS.average_wait}
                value={duration(queue().avg_wait_ms)}
                hint={`${WORDS.p95_wait} ${duration(queue().p95_wait_ms)}`}
              />
              <Stat label={WORDS.completed} value={count(queue().completed)} hint={WORDS.since_start} />
              <Stat
                label={WORDS.rejected}
                value={count(queue().rejected)}
                tone={queue().rejected > 0 ? 'bad' : 'plain'}
                hint={`${WORDS.timed_out}: ${count(queue().timed_out)}`}
              />
            </StatGrid>
            <Show when={state() === 'full'}>
              <Notice tone="brass" action={<LinkButton href="/metrics">{WORDS.slow_tools}</LinkButton>}>
                {WORDS.advice}
              </Notice>
            </Show>
          </div>
        )}
      </Show>
    </Panel>
  );
}

/** One place for each call that may run at once. */
function Bar(props: { active: number; waiting: number; limit: number }) {
  return (
    <div
      class="queue-bar"
      role="meter"
      aria-label={WORDS.running}
      aria-valuemin="0"
      aria-valuemax={props.limit}
      aria-valuenow={Math.min(props.active, props.limit)}
      aria-valuetext={WORDS.running_of(props.active, props.limit)}
    >
      <span
        class="queue-fill"
        style={{ width: `${props.limit === 0 ? 0 : Math.min(100, (props.active / props.limit) * 100)}%` }}
      />
    </div>
  );
}
