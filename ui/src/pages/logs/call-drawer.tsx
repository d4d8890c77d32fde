import { callerWord } from '#ui/src/kernel/metrics-words.ts';
import { For, Show } from 'solid-js';
import { CONFIRMATION_CHOICES } from '#core/contract/observe/calls.ts';
import { OUTCOME_CHOICES } from '#core/contract/observe/outcomes.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { KeyValue } from '#ui/src/components/show/key-value.tsx';
import { Link } from '#ui/src/components/link.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { Loaded } from '#ui/src/components/show/loaded.tsx';
import { DrawerOf } from '#ui/src/components/dialog-of.tsx';
import { exactTime } from '#ui/src/kernel/dates.ts';
import type { Output } from '#core/contract/index.ts';
import { callsHref } from '#ui/src/kernel/metrics.ts';
import { num } from '#ui/src/kernel/numbers.ts';
import { bytes, capital, duration } from '#ui/src/kernel/words.ts';
import { CallAgain } from './call-again.tsx';
import { CallArguments } from './call-arguments.tsx';
import { endWord } from './words.ts';

/** One call: what is known of it, and where to go on. */
export function CallDrawer(props: { id: string | undefined; onClose: () => void }) {
  return (
    <DrawerOf of={props.id} title="Call" lead="Results are not logged." onClose={props.onClose}>
      {(id) => <OneCall id={id} />}
    </DrawerOf>
  );
}

function OneCall(props: { id: string }) {
  const detail = useQuery((read) => read('logs.get', { call_id: props.id }));
  return (
    <Loaded of={detail} rows={4} label="Call">
      {(of) => <CallFacts of={of()} />}
    </Loaded>
  );
}

const LISTS = { tool: 'tools.list', resource: 'resources.list', prompt: 'prompts.list' } as const;

function CallFacts(props: { of: Detail }) {
  // The log knows the name only: what it was the name of may be gone, or have another now. The record of this name comes first.
  const definition = useQuery(async (read) => {
    const { kind, name } = props.of;
    const { items } = await read(LISTS[kind], { search: name, limit: 1 });
    const found = items.find((item) => item.name === name);
    if (found === undefined) return null;
    const sent = 'parameters' in found ? found.parameters.filter(({ from }) => from === undefined) : [];
    return { id: found.id, reads: kind === 'tool' && 'read_only' in found && found.read_only, has_arguments: sent.length > 0 };
  });
  const connection = useQuery(async (read) => {
    const id = props.of.connection_id;
    return id === null ? null : (await read('connections.get', { id })).name;
  });
  return (
    <div class="stack">
      <Show when={props.of.error_message}>
        {(message) => (
          <Notice tone="bad" title={`Error returned: ${OUTCOME_CHOICES[props.of.outcome].label}`}>
            <p class="logs-sentence">{message()}</p>
          </Notice>
        )}
      </Show>
      <CallAgain of={props.of} definition={definition.data() ?? undefined} />
      <Show when={props.of.kind === 'tool'}>
        <CallArguments of={props.of} tool={definition.data()?.id} />
      </Show>
      <Times of={props.of} />
      <KeyValue
        items={[
          { label: 'Called', value: props.of.name, mono: true, copy: props.of.name },
          { label: 'Kind', value: capital(props.of.kind) },
          {
            label: 'Outcome',
            value: <Badge tone={props.of.success ? 'good' : 'bad'}>{endWord(props.of)}</Badge>,
          },
          props.of.confirmation !== null && { label: 'Confirmation', value: CONFIRMATION_CHOICES[props.of.confirmation].label },
          { label: 'Time', value: exactTime(props.of.timestamp), copy: props.of.timestamp },
          { label: 'Duration', value: duration(props.of.duration_ms) },
          {
            label: 'Rows',
            value: `${num(props.of.rows)}${props.of.truncated ? ', cut off at a limit' : ''}`,
          },
          line('Size', bytes(props.of.bytes), false),
          line('Tokens', `About ${num(props.of.tokens)}`, false),
          line('SQLSTATE', props.of.sqlstate),
          props.of.ignored_arguments.length > 0 && { label: 'Ignored arguments', value: props.of.ignored_arguments.join(', ') },
          { label: 'Client', value: props.of.client ?? '–' },
          { label: 'Caller', value: callerWord(props.of) || '–' },
          line('Token', props.of.token_name === null ? null : props.of.token_prefix),
          line('Person', props.of.person),
          line('Token ID', props.of.token),
          line('Client ID', props.of.client_id),
          props.of.session_id !== null && {
            label: 'Session',
            value: <Link href={sessionHref(props.of.session_id)}>View session</Link>,
          },
          line('Session ID', props.of.session),
          line('Trace ID', props.of.trace_id),
          props.of.connection_id !== null && {
            label: 'Connection',
            value: <Link href={`/connections/${props.of.connection_id}`}>{connection.data() ?? props.of.connection_id}</Link>,
          },
          { label: 'Version', value: <AnsweredBy of={props.of} /> },
          { label: 'ID', value: props.of.id, mono: true, copy: props.of.id },
        ]}
      />
    </div>
  );
}

const sessionHref = (session: string): string => `/logs?${new URLSearchParams({ view: 'sessions', session })}`;

const CANARY_WORDS = { running: 'A canary that is running', aborted: 'A canary that was aborted' } as const;

/** What answered: a version, or a canary with what became of it. */
function AnsweredBy(props: { of: Detail }) {
  const became = () => props.of.canary_state;
  const word = () => {
    const status = became()?.status;
    return status === undefined || status === 'promoted' ? 'A canary' : CANARY_WORDS[status];
  };
  return (
    <Show when={props.of.canary} fallback={<VersionLink version={props.of.snapshot_version} />}>
      <span>
        {word()}
        <Show when={became()?.version}>
          {(version) => (
            <>
              {' that became version '}
              <VersionLink version={version()} />
            </>
          )}
        </Show>
        {'. '}
        <Link href={callsHref({ range: 'all', canary: props.of.canary ?? '' })}>View its calls</Link>
      </span>
    </Show>
  );
}

/** What was served when it was called: with what had changed in it. */
function VersionLink(props: { version: number | null }) {
  const href = (version: number) =>
    `/deploy?${new URLSearchParams({ view: 'versions', from: String(version - 1), to: String(version) })}`;
  return (
    <Show when={props.version} fallback="–">
      {(version) => (
        <Show when={version() > 1} fallback={String(version())}>
          <Link href={href(version())}>{`${version()}, changes since ${version() - 1}`}</Link>
        </Show>
      )}
    </Show>
  );
}

type Detail = Output<'logs.get'>;
/** Of what is not there, no line. */
const line = (label: string, value: string | null, mono = true) =>
  value !== null && { label, value, mono, ...(mono ? { copy: value } : {}) };

/** Where the time of a call went. */
function Times(props: { of: Detail }) {
  const parts = () => {
    const { duration_ms, queue_ms, database_ms } = props.of;
    const rest = Math.max(0, duration_ms - queue_ms - database_ms);
    return [
      { id: 'queue', label: 'Queue', ms: queue_ms },
      { id: 'database', label: 'Database', ms: database_ms },
      { id: 'rest', label: 'Sluice', ms: rest },
    ];
  };
  const all = () => parts().reduce((sum, { ms }) => sum + ms, 0) || 1;
  return (
    <div class="logs-times">
      <div class="logs-times-bar" aria-hidden="true">
        <For each={parts()}>{(part) => <span data-part={part.id} style={{ width: `${(part.ms / all()) * 100}%` }} />}</For>
      </div>
      <ul aria-label="Times">
        <For each={parts()}>
          {(part) => (
            <li data-part={part.id}>
              {part.label} <b class="num">{duration(part.ms)}</b>
            </li>
          )}
        </For>
      </ul>
    </div>
  );
}
