import { createEffect, For, on, Show } from 'solid-js';
import type { Output } from '#core/contract/index.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { Drawer } from '#ui/src/components/dialog.tsx';
import { ProblemNotice } from '#ui/src/components/notice.tsx';
import { KeyValue } from '#ui/src/components/show/key-value.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { createPages } from '#ui/src/kernel/data/pages.ts';
import { clockTime, exactTime } from '#ui/src/kernel/dates.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { count, duration, plural } from '#ui/src/kernel/words.ts';
import type { McpSession } from './sessions-panel.tsx';
import { OUTCOME_WORDS, WORDS } from './words.ts';

type Event = Output<'mcp_sessions.get'>['events'][number];
const PAGE = 200;

/** What one client did, in order. */
export function SessionDrawer(props: { session: McpSession | undefined; onClose: () => void }) {
  return (
    <Drawer open={props.session !== undefined} title="Session" lead="What the client did, in order." onClose={props.onClose}>
      <Show when={props.session} keyed>
        {(session) => <Steps session={session} />}
      </Show>
    </Drawer>
  );
}

function Steps(props: { session: McpSession }) {
  const { call } = useKernel();
  const events = createPages<Event>(
    async (skip, limit, signal) => {
      const answer = await call('mcp_sessions.get', { id: props.session.id, skip, limit }, signal);
      return { items: answer.events, total: answer.calls };
    },
    { size: PAGE, most: PAGE },
  );
  createEffect(
    on(
      () => props.session.id,
      () => void events.restart(),
    ),
  );
  return (
    <div class="stack">
      <KeyValue
        items={[
          { label: WORDS.client, value: props.session.client ?? '–' },
          { label: WORDS.token, value: props.session.token_prefix ?? '–', mono: true },
          props.session.person !== null && { label: 'Person', value: props.session.person, mono: true },
          { label: 'Started', value: exactTime(props.session.started_at) },
          { label: 'Last call', value: exactTime(props.session.last_at) },
          { label: WORDS.requests, value: `${count(props.session.calls)}, ${plural(props.session.errors, 'error')}` },
          { label: WORDS.rows, value: count(props.session.rows) },
          { label: 'Tokens', value: `About ${count(props.session.tokens)}` },
        ]}
      />
      <Show when={events.problem()}>{(problem) => <ProblemNotice problem={problem()} />}</Show>
      <Show when={events.items()} fallback={<SkeletonList rows={4} label="Steps" />}>
        {(items) => (
          <ol class="session-steps" aria-label="Steps">
            <For each={items()}>{(event) => <Step event={event} />}</For>
          </ol>
        )}
      </Show>
      <Show when={props.session.calls > PAGE}>
        <p class="soft">{`The first ${plural(PAGE, 'call')} of ${count(props.session.calls)}. Open the log of calls for the others.`}</p>
      </Show>
    </div>
  );
}

function Step(props: { event: Event }) {
  const failed = () => props.event.outcome !== 'ok';
  return (
    <li data-failed={failed() ? 'true' : undefined}>
      <time class="num faint" datetime={props.event.timestamp} title={exactTime(props.event.timestamp)}>
        {clockTime(props.event.timestamp)}
      </time>
      <div>
        <span class="mono">{props.event.name}</span>{' '}
        <Show when={props.event.retry}>
          <Badge tone="brass">Retry</Badge>
        </Show>{' '}
        <Show when={failed()}>
          <Badge tone="bad">{OUTCOME_WORDS[props.event.outcome]}</Badge>
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
