import { Show } from 'solid-js';
import type { Output } from '#core/contract/index.ts';
import { Spark } from '#ui/src/components/chart/chart-spark.tsx';
import { Skeleton } from '#ui/src/components/skeleton.tsx';
import { Stat, StatGrid } from '#ui/src/components/show/stat.tsx';
import type { Status } from '#ui/src/features/deploy/deployment.ts';
import {
  callsHref,
  errorTone,
  metricsHref,
  type Period,
  type Series,
  topBy,
  totalsOf,
  type UsageRow,
} from '#ui/src/kernel/metrics.ts';
import { PERIOD_CHOICES } from '#core/contract/observe/metric-ranges.ts';
import { count, num, percent } from '#ui/src/kernel/numbers.ts';
import { duration, plural } from '#ui/src/kernel/words.ts';

/** `2 of 3`: those that are well. */
const share = (out: number, all = 0): string => `${all - out} of ${all}`;

/** The state of everything in six numbers, each of which leads to the page that explains it. */
export function Stats(props: {
  period: Period;
  rows: readonly UsageRow[] | undefined;
  series: Series | undefined;
  status: Status | undefined;
  health: Output<'server.health'> | undefined;
  queues: Output<'queue.metrics'> | undefined;
  /** Something could not be read: what is not there does not come. */
  failed: boolean;
}) {
  const total = () => totalsOf(props.rows ?? []);
  const points = () => props.series?.points ?? [];
  const slowest = () => topBy(props.rows ?? [], 'p95_ms', 1)[0];
  const queues = () => Object.values(props.queues?.connections ?? {});
  const sum = (field: 'active' | 'waiting' | 'limit') => queues().reduce((all, queue) => all + queue[field], 0);
  const behind = () =>
    props.status?.hosts.filter(({ snapshot_version }) => snapshot_version !== props.status?.snapshot_version) ?? [];
  const sick = () => props.health?.connections.filter(({ healthy }) => !healthy) ?? [];
  const lag = () => {
    const lags = props.health?.connections.flatMap(({ lag_ms }) => lag_ms ?? []) ?? [];
    return lags.length === 0 ? undefined : Math.max(...lags);
  };
  const known = (there: unknown, text: () => string) => (
    <Show when={there} fallback={props.failed ? '–' : <Skeleton width="half" height="1.75rem" />}>
      {text()}
    </Show>
  );
  const hostsHint = () => {
    if ((props.status?.hosts.length ?? 0) === 0) return 'None connected';
    if (props.status?.snapshot_version === null) return 'Ready, nothing deployed yet';
    return behind().length > 0 ? `${plural(behind().length, 'host')} not on this version` : 'All on this version';
  };
  const databasesHint = () => {
    if (props.health?.connections.length === 0) return 'None deployed';
    return sick().length > 0
      ? `Not responding: ${sick()
          .map(({ name }) => name)
          .join(', ')}`
      : lag() === undefined
        ? 'All responding'
        : `All responding, standbys up to ${duration(lag() ?? 0)} behind`;
  };
  const last = () => `Last ${PERIOD_CHOICES[props.period].label}`;

  return (
    <StatGrid>
      <Stat
        label="Calls"
        value={known(props.rows, () => count(total().calls))}
        hint={last()}
        href={metricsHref(props.period)}
        spark={<Spark values={points().map(({ calls }) => calls)} />}
      />
      <Stat
        label="Errors"
        value={known(props.rows, () => count(total().errors))}
        tone={total().errors === 0 ? 'plain' : errorTone(total().error_rate)}
        hint={`${percent(total().error_rate)} of the calls`}
        href={callsHref({ outcome: 'failed', range: props.period })}
        spark={<Spark values={points().map(({ errors }) => errors)} tone="bad" />}
      />
      <Stat
        label="Average"
        value={known(props.rows, () => (total().calls === 0 ? '–' : duration(total().avg_ms)))}
        hint={
          <Show when={slowest()} fallback={last()}>
            {(row) => `Highest p95: ${duration(row().p95_ms)}`}
          </Show>
        }
        href={metricsHref(props.period, slowest()?.key)}
        spark={<Spark values={points().map(({ p95_ms }) => p95_ms)} tone="warning" />}
      />
      <Stat
        label="Queue"
        value={known(props.queues, () => `${num(sum('waiting'))} waiting`)}
        tone={sum('waiting') > 0 ? 'warning' : 'plain'}
        hint={queues().length === 0 ? 'No connection is served' : `${sum('active')} of ${sum('limit')} slots in use`}
        href="/queue"
      />
      <Stat
        label="Hosts"
        value={known(props.status, () => share(behind().length, props.status?.hosts.length))}
        tone={behind().length > 0 ? 'warning' : 'plain'}
        hint={hostsHint()}
        href="/logs?view=live&source=host"
      />
      <Stat
        label="Databases"
        value={known(props.health, () => share(sick().length, props.health?.connections.length))}
        tone={sick().length > 0 ? 'bad' : 'plain'}
        hint={databasesHint()}
        href="/connections"
      />
    </StatGrid>
  );
}
