import { createSignal, For, Match, Show, Switch } from 'solid-js';
import { OUTCOME_CHOICES } from '#core/contract/observe/outcomes.ts';
import type { Output } from '#core/contract/index.ts';
import { Breakable } from '#ui/src/components/show/breakable.tsx';
import { Badge } from '#ui/src/components/badge.tsx';
import { Failed } from '#ui/src/components/notice.tsx';
import { KeyValue } from '#ui/src/components/show/key-value.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { Link } from '#ui/src/components/link.tsx';
import { usePages } from '#ui/src/components/use-pages.ts';
import { LoadMore } from '#ui/src/components/table/load-more.tsx';
import { DrawerOf } from '#ui/src/components/dialog-of.tsx';
import type { Pages } from '#ui/src/kernel/data/pages.ts';
import { clockTime, exactTime } from '#ui/src/kernel/dates.ts';
import { callerWord } from '#ui/src/kernel/metrics-words.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { count } from '#ui/src/kernel/numbers.ts';
import { duration, plural } from '#ui/src/kernel/words.ts';

type Event = Output<'mcp_sessions.get'>['events'][number];
const PAGE = 200;

/** The calls of one session, in order. */
export function SessionDrawer(props: { id: string | undefined; onClose: () => void }) {
  return (
    <DrawerOf of={props.id} title="Session" lead="What the client did, in order." onClose={props.onClose}>
      {(id) => <OneSession id={id} />}
    </DrawerOf>
  );
}

function OneSession(props: { id: string }) {
  const { call } = useKernel();
  const [session, setSession] = createSignal<Output<'mcp_sessions.get'>>();
  const steps = usePages<Event>(
    async (skip, limit, signal) => {
      const { events, ...found } = await call('mcp_sessions.get', { id: props.id, skip, limit }, signal);
      setSession({ ...found, events });
      // Some of the counted calls may be beyond the retention.
      const total = events.length < limit ? skip + events.length : Math.max(found.calls + found.lists, skip + events.length);
      return { items: events, total };
    },
    () => props.id,
    { size: PAGE, most: 500 },
  );
  return (
    <Switch fallback={<SkeletonList rows={4} label="Steps" />}>
      <Match when={session()}>{(found) => <Steps session={found()} steps={steps} />}</Match>
      <Match when={steps.problem()}>
        <Failed of={steps} />
      </Match>
    </Switch>
  );
}

function Steps(props: { session: Output<'mcp_sessions.get'>; steps: Pages<Event> }) {
  return (
    <div class="stack">
      <KeyValue
        items={[
          { label: 'Client', value: props.session.client ?? '–' },
          { label: 'Caller', value: callerWord(props.session) || '–' },
          props.session.token_name !== null && { label: 'Token', value: props.session.token_prefix ?? '', mono: true },
          props.session.person !== null && { label: 'Person', value: props.session.person, mono: true },
          { label: 'Started', value: exactTime(props.session.started_at) },
          { label: 'Last call', value: exactTime(props.session.last_at) },
          { label: 'Calls', value: `${count(props.session.calls)}, ${plural(props.session.errors, 'error')}` },
          { label: 'Rows', value: count(props.session.rows) },
          { label: 'Tokens', value: `About ${count(props.session.tokens)}` },
        ]}
      />
      <ol class="stack session-steps" data-gap="2" aria-label="Steps">
        <For each={props.steps.items()}>{(event) => <Step event={event} />}</For>
      </ol>
      <Failed of={props.steps} />
      <Show when={(props.steps.total() ?? 0) > PAGE}>
        <LoadMore
          shown={props.steps.items()?.length ?? 0}
          total={props.steps.total() ?? 0}
          busy={props.steps.pending()}
          onMore={() => void props.steps.more()}
        />
      </Show>
    </div>
  );
}

function Step(props: { event: Event }) {
  const failed = () => props.event.outcome !== 'ok';
  const name = () => <Breakable text={props.event.name} />;
  return (
    <li data-failed={failed() ? 'true' : undefined}>
      <time class="num faint" datetime={props.event.timestamp} title={exactTime(props.event.timestamp)}>
        {clockTime(props.event.timestamp)}
      </time>
      <div>
        <Show when={props.event.call_id} fallback={<span class="mono">{name()}</span>}>
          {(id) => (
            <Link href={`/logs?${new URLSearchParams({ view: 'requests', call: id() })}`}>
              <span class="mono">{name()}</span>
            </Link>
          )}
        </Show>{' '}
        <Show when={props.event.retry}>
          <Badge tone="warning">Retry</Badge>
        </Show>{' '}
        <Show when={failed()}>
          <Badge tone="bad">{OUTCOME_CHOICES[props.event.outcome].label}</Badge>
        </Show>
        <Show when={props.event.error_message}>{(message) => <p class="logs-sentence">{message()}</p>}</Show>
        <Show when={props.event.kind !== 'list'}>
          <p class="soft">
            {`${duration(props.event.duration_ms)}, waited ${duration(props.event.wait_ms)}, ${plural(props.event.rows, 'row')}, about ${plural(props.event.tokens, 'token')}`}
          </p>
        </Show>
      </div>
    </li>
  );
}
