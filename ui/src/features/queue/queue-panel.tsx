import { Show } from 'solid-js';
import { StatusDot, type Tone } from '#ui/src/components/badge.tsx';
import { Spark } from '#ui/src/components/chart/chart-spark.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { Stat, StatGrid } from '#ui/src/components/show/stat.tsx';
import { callsHref } from '#ui/src/kernel/metrics.ts';
import { count } from '#ui/src/kernel/numbers.ts';
import { duration, plural } from '#ui/src/kernel/words.ts';
import { type QueueMetrics, queueState, type QueueState, type Sample } from './metrics-queue.ts';
import './queue.css';

const STATE = {
  idle: { word: 'Not in use', tone: 'plain' },
  calm: { word: 'Free', tone: 'good' },
  busy: { word: 'Busy', tone: 'info' },
  full: { word: 'Full', tone: 'warning' },
} as const satisfies Record<QueueState, { word: string; tone: Tone }>;

/** One connection, with all that is measured of its queue. */
export function QueuePanel(props: { id: string; name: string; queue: QueueMetrics | undefined; samples: readonly Sample[] }) {
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
      flush
    >
      <Show when={props.queue}>
        {(queue) => (
          <div class="panel-body stack">
            <Bar active={queue().active} waiting={queue().waiting} limit={queue().limit} />
            <StatGrid>
              <Stat
                label="Running"
                value={`${queue().active} of ${queue().limit}`}
                spark={<Spark values={props.samples.map(({ active }) => active)} />}
              />
              <Stat
                label="Waiting"
                value={count(queue().waiting)}
                tone={queue().waiting > 0 ? 'warning' : 'plain'}
                hint={queue().waiting > 0 ? `longest ${duration(queue().longest_wait_ms)}` : undefined}
                spark={<Spark values={props.samples.map(({ waiting }) => waiting)} tone="warning" />}
              />
              <Stat
                label="Average wait"
                value={duration(queue().avg_wait_ms)}
                hint={`p95 wait ${duration(queue().p95_wait_ms)}`}
              />
              <Stat label="Completed" value={count(queue().completed)} hint="Since the hosts started" />
              <Stat
                label="Rejected"
                value={count(queue().rejected + queue().timed_out)}
                tone={queue().rejected + queue().timed_out > 0 ? 'warning' : 'plain'}
                hint={`Queue full: ${count(queue().rejected)}, waited too long: ${count(queue().timed_out)}`}
              />
            </StatGrid>
            <Show when={state() === 'full'}>
              <Notice tone="warning" action={<LinkButton href="/metrics">Find the slow tools</LinkButton>}>
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
      aria-label="Running"
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
