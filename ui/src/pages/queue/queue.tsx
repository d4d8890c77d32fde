import { createMemo, createSignal, For, Match, Show, Switch } from 'solid-js';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { ProblemNotice } from '#ui/src/components/notice.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { allOf } from '#ui/src/kernel/data/all-of.ts';
import { num } from '#ui/src/kernel/numbers.ts';
import { GROUP_WORDS, type GroupedIds, groupQueues, keepOrder, QUEUE_GROUPS } from './groups.ts';
import { QueuePanel } from '#ui/src/features/queue/queue-panel.tsx';
import { useQueues } from '#ui/src/features/queue/use-queues.ts';
import { RunningCalls } from './running-calls.tsx';

const PAGE = 500;
/** So many connections are shown one below the other; more of them are grouped, and those at rest closed. */
const FEW = 6;

/** What runs and waits on each connection, live. */
export function Queue() {
  const [pointed, setPointed] = createSignal(false);
  const connections = useQuery((read) => allOf((skip, limit) => read('connections.list', { skip, limit }), PAGE));
  const { queues, samples } = useQueues();
  const rows = createMemo(
    () =>
      new Map(
        (connections.data()?.items ?? []).map(({ id, name, db_type }) => [id, { id, name, db_type, queue: queues.data()?.[id] }]),
      ),
  );
  const groups = createMemo<GroupedIds | undefined>((shown) => {
    const next = groupQueues([...rows().values()], samples());
    return pointed() ? keepOrder(shown, next) : next;
  });
  const panels = (ids: () => readonly string[]) => (
    <For each={ids()}>
      {(id) => (
        <Show when={rows().get(id)}>
          {(row) => <QueuePanel id={id} name={row().name} queue={row().queue} samples={samples().get(id) ?? []} />}
        </Show>
      )}
    </For>
  );
  return (
    <Page title="Queues" lead="Running, waiting and rejected calls of each connection, live.">
      <Show when={connections.problem() ?? queues.problem()}>{(problem) => <ProblemNotice problem={problem()} />}</Show>
      <RunningCalls />
      <Switch fallback={<SkeletonList rows={3} label="Queue" />}>
        <Match when={connections.data()?.total === 0}>
          <Panel title="Queues" flush>
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
          <div
            class="stack"
            onPointerEnter={() => setPointed(true)}
            onPointerLeave={() => setPointed(false)}
            onFocusIn={() => setPointed(true)}
            onFocusOut={() => setPointed(false)}
          >
            <For each={QUEUE_GROUPS}>
              {(group) => {
                const ids = () => groups()?.[group] ?? [];
                return (
                  <Show when={ids().length > 0}>
                    <Show when={rows().size > FEW} fallback={panels(ids)}>
                      <details class="queue-group" open={group === 'waiting' || group === 'used'}>
                        <summary>
                          {GROUP_WORDS[group]} <span class="faint num">{num(ids().length)}</span>
                        </summary>
                        <div class="stack">{panels(ids)}</div>
                      </details>
                    </Show>
                  </Show>
                );
              }}
            </For>
          </div>
        </Match>
      </Switch>
    </Page>
  );
}
