import { createMemo, For, Show } from 'solid-js';
import type { Output } from '#core/contract/index.ts';
import { Button } from '#ui/src/components/button.tsx';
import { Breakable } from '#ui/src/components/show/breakable.tsx';
import { Link, LinkButton } from '#ui/src/components/link.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { Ago } from '#ui/src/components/time.tsx';
import type { Diff } from '#ui/src/features/deploy/deployment.ts';
import { callsHref, metricsHref, type Period, topBy, type UsageRow } from '#ui/src/kernel/metrics.ts';
import { errorWord } from '#ui/src/kernel/metrics-words.ts';
import type { Problem } from '#ui/src/kernel/problem.ts';
import { recordName, TYPE_WORDS } from '#ui/src/kernel/record-words.ts';
import { keepEqual } from '#ui/src/kernel/data/query.ts';
import { count } from '#ui/src/kernel/numbers.ts';
import { duration, plural } from '#ui/src/kernel/words.ts';
import { DONE_WORDS, RECORD_WORDS } from './words.ts';
import { ChangeRisks } from '#ui/src/features/deploy/change-risks.tsx';
import { sortChanges } from '#ui/src/features/deploy/changes.ts';

const TOP = 6;
const SHOWN_CHANGES = 5;

/** What is called most, with how long it takes. */
export function TopPanel(props: { period: Period; rows: readonly UsageRow[] | undefined; failed: Problem | undefined }) {
  const top = createMemo<readonly UsageRow[]>((before) => keepEqual(before, topBy(props.rows ?? [], 'calls', TOP)));
  const most = () => top()[0]?.calls ?? 1;
  return (
    <Panel title="Most called" flush>
      <Show when={props.rows} fallback={<SkeletonList rows={3} label="Most called" failed={props.failed} />}>
        <ul class={top().length > 0 ? 'dash-top' : 'dash-rows'}>
          <For
            each={top()}
            fallback={
              <li class="soft">
                <span>
                  No calls in this period. <Link href="/playground">Call a tool in the playground</Link>
                </span>
              </li>
            }
          >
            {(row) => (
              <li>
                <Link href={metricsHref(props.period, row.key)} class="mono long-name">
                  <Breakable text={row.name} />
                </Link>
                <span class="dash-bar" aria-hidden="true">
                  <span style={{ width: `${(row.calls / most()) * 100}%` }} />
                </span>
                <span class="num">{count(row.calls)}</span>
                <span class="num faint">{duration(row.p95_ms)}</span>
              </li>
            )}
          </For>
        </ul>
      </Show>
    </Panel>
  );
}

/** Calls that failed last. */
export function FailuresPanel(props: { period: Period; failures: Output<'logs.list'> | undefined; failed: Problem | undefined }) {
  const items = createMemo(() => props.failures?.items);
  return (
    <Panel
      title="Latest failures"
      count={props.failures?.total}
      flush
      actions={
        <Show when={(props.failures?.total ?? 0) > 0}>
          <LinkButton href={callsHref({ outcome: 'failed', range: props.period })} kind="quiet" size="small">
            View all failures
          </LinkButton>
        </Show>
      }
    >
      <Show when={props.failures} fallback={<SkeletonList rows={2} label="Latest failures" failed={props.failed} />}>
        <ul class="dash-rows">
          <For each={items()} fallback={<li class="soft small">No failed calls in this period.</li>}>
            {(entry) => (
              <li>
                <Link
                  href={callsHref({ kind: entry.kind, name: entry.name, outcome: 'failed', range: props.period })}
                  class="mono long-name"
                >
                  <Breakable text={entry.name} />
                </Link>
                <span class="soft">{errorWord(entry.error)}</span>
                <span class="faint">
                  <Ago iso={entry.timestamp} />
                </span>
              </li>
            )}
          </For>
        </ul>
      </Show>
    </Panel>
  );
}

/** What the next deploy brings, those first that may break a client or change rows. */
export function ChangesPanel(props: { diff: Diff | undefined; onReview: () => void }) {
  const changes = () => sortChanges(props.diff?.changes ?? []);
  return (
    <Show when={changes().length > 0}>
      <Panel
        title="Changes to deploy"
        count={changes().length}
        flush
        actions={
          <Button kind="quiet" size="small" onPress={() => props.onReview()}>
            View all
          </Button>
        }
      >
        <ul class="dash-rows">
          <For each={changes().slice(0, SHOWN_CHANGES)}>
            {(change) => (
              <li>
                <span class="mono long-name">
                  <Breakable text={change.name} />
                </span>
                <span class="soft">
                  {TYPE_WORDS[change.entity_type]} {change.change}
                </span>
                <span class="row dash-risks">
                  <ChangeRisks change={change} />
                </span>
              </li>
            )}
          </For>
          <Show when={changes().length > SHOWN_CHANGES}>
            <li class="faint">{`and ${plural(changes().length - SHOWN_CHANGES, 'more', 'more')}`}</li>
          </Show>
        </ul>
      </Panel>
    </Show>
  );
}

/** Who changed what. */
export function ActivityPanel(props: { history: Output<'history.list'> | undefined; failed: Problem | undefined }) {
  const items = createMemo(() => props.history?.items);
  return (
    <Panel
      title="Recent changes"
      flush
      actions={
        <LinkButton href="/history" kind="quiet" size="small">
          History
        </LinkButton>
      }
    >
      <Show when={props.history} fallback={<SkeletonList rows={3} label="Recent changes" failed={props.failed} />}>
        <ul class="dash-rows">
          <For each={items()} fallback={<li class="soft small">No changes yet.</li>}>
            {(entry) => (
              <li data-action={entry.action}>
                <Link
                  href={`/history?${new URLSearchParams({ type: entry.entity_type, id: entry.entity_id })}`}
                  class="dash-sentence"
                >
                  <b>{entry.actor.name}</b> {DONE_WORDS[entry.action]} {RECORD_WORDS[entry.entity_type]}{' '}
                  <span class="mono">{recordName(entry)}</span>
                </Link>
                <span class="faint">
                  <Ago iso={entry.created_at} />
                </span>
              </li>
            )}
          </For>
        </ul>
      </Show>
    </Panel>
  );
}
