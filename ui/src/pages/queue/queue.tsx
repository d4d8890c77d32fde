import { createMemo, createSignal, For, Match, Show, Switch } from 'solid-js';
import { StatusDot, type Tone } from '#ui/src/components/badge.tsx';
import { Spark } from '#ui/src/components/chart/chart-spark.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Notice, ProblemNotice } from '#ui/src/components/notice.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { Stat, StatGrid } from '#ui/src/components/show/stat.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { callsHref } from '#ui/src/kernel/metrics.ts';
import { keepSamples, type QueueMetrics, queueState, type QueueState, type Sample } from './metrics-queue.ts';
import { count, duration, plural } from '#ui/src/kernel/words.ts';
import { WORDS } from './words.ts';
import './queue.css';

const POLL_MS = 2_000;
const MOST = 500;
const STATE = {
  idle: { word: 'Not in use', tone: 'plain' },
  calm: { word: 'Free', tone: 'good' },
  busy: { word: 'Busy', tone: 'water' },
  full: { word: 'Full', tone: 'brass' },
} as const satisfies Record<QueueState, { word: string; tone: Tone }>;

/** What runs and waits on each connection, live. */
export function Queue() {
  const [samples, setSamples] = createSignal<ReadonlyMap<string, readonly Sample[]>>(new Map());
  const connections = useQuery((read) => read('connections.list', { limit: MOST }));
  const queues = useQuery(
    async (read) => {
      const answer = await read('queue.metrics', {});
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
    <Page title={WORDS.title} lead="Running, waiting and rejected calls of each connection, live.">
      <Show when={connections.problem() ?? queues.problem()}>{(problem) => <ProblemNotice problem={problem()} />}</Show>
      <Switch fallback={<SkeletonList rows={3} label={WORDS.title} />}>
        <Match when={connections.data()?.total === 0}>
          <Panel title={WORDS.title}>
            <EmptyState
              icon="database"
              title="No connections yet"
              action={<LinkButton href="/connections/new">Connect a database</LinkButton>}
            >
              Each connection has its own queue, so a slow database doesn’t hold up the others.
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
      lead={props.queue === undefined ? 'No tool on this connection is deployed, or no host is connected.' : undefined}
      actions={
        <div class="row">
          <StatusDot tone={STATE[state()].tone} label={STATE[state()].word} />
          <LinkButton kind="quiet" size="small" href={callsHref({ connection: props.id, range: '24h' })}>
            View calls
          </LinkButton>
          <LinkButton kind="quiet" size="small" href={`/connections/${props.id}`}>
            Change limits
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
                value={`${queue().active} of ${queue().limit}`}
                spark={<Spark values={props.samples.map(({ active }) => active)} />}
              />
              <Stat
                label="Waiting"
                value={count(queue().waiting)}
                tone={queue().waiting > 0 ? 'brass' : 'plain'}
                hint={queue().waiting > 0 ? `longest ${duration(queue().longest_wait_ms)}` : undefined}
                spark={<Spark values={props.samples.map(({ waiting }) => waiting)} tone="brass" />}
              />
              <Stat
                label="Average wait"
                value={duration(queue().avg_wait_ms)}
                hint={`p95 wait ${duration(queue().p95_wait_ms)}`}
              />
              <Stat label="Completed" value={count(queue().completed)} hint="Since the hosts started" />
              <Stat
                label="Rejected"
                value={count(queue().rejected)}
                tone={queue().rejected + queue().timed_out > 0 ? 'brass' : 'plain'}
                hint={`No free slot: ${count(queue().timed_out)}`}
              />
            </StatGrid>
            <Show when={state() === 'full'}>
              <Notice tone="brass" action={<LinkButton href="/metrics">Find the slow tools</LinkButton>}>
                Calls are queued or rejected. Raise concurrency or speed up slow tools.
              </Notice>
            </Show>
          </div>
        )}
      </Show>
    </Panel>
  );
}

/** How many of the slots are taken. */
function Bar(props: { active: number; waiting: number; limit: number }) {
  return (
    <div
      class="queue-bar"
      role="meter"
      aria-label={WORDS.running}
      aria-valuemin="0"
      aria-valuemax={props.limit}
      aria-valuenow={Math.min(props.active, props.limit)}
      aria-valuetext={`${props.active} of ${plural(props.limit, 'slot')} in use`}
    >
      <span
        class="queue-fill"
        style={{ width: `${props.limit === 0 ? 0 : Math.min(100, (props.active / props.limit) * 100)}%` }}
      />
    </div>
  );
}
