import { For, Show } from 'solid-js';
import { Badge } from '#ui/src/components/badge.tsx';
import { Drawer } from '#ui/src/components/dialog.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { KeyValue } from '#ui/src/components/show/key-value.tsx';
import { Link, LinkButton } from '#ui/src/components/link.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { KeepTest } from '#ui/src/features/tests/keep-test.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { exactTime } from '#ui/src/kernel/dates.ts';
import type { Output } from '#core/contract/index.ts';
import { callsHref, keyOf, metricsHref } from '#ui/src/kernel/metrics.ts';
import { bytes, duration } from '#ui/src/kernel/words.ts';
import { errorWord, KIND_WORDS } from '#ui/src/kernel/metrics-words.ts';
import type { CallEntry } from './download.ts';
import { testOfCall } from './test-of-call.ts';
import { CONFIRMATION_WORDS, OUTCOME_WORDS, WORDS } from './words.ts';

/** One call: what is known of it, and where to go on. */
export function CallDrawer(props: { entry: CallEntry | undefined; onClose: () => void }) {
  return (
    <Drawer open={props.entry !== undefined} title="Call" lead="Arguments and results are not logged." onClose={props.onClose}>
      <Show when={props.entry}>{(entry) => <CallFacts entry={entry()} />}</Show>
    </Drawer>
  );
}

const LISTS = { tool: 'tools.list', resource: 'resources.list', prompt: 'prompts.list' } as const;
const PLAYGROUND = { tool: 'tool', resource: 'resource', prompt: 'prompt' } as const;

function CallFacts(props: { entry: CallEntry }) {
  const { call } = useKernel();
  // The log knows the name only: what it was the name of may be gone, or have another now.
  const entity = useQuery(async (read) => {
    const { kind, name } = props.entry;
    const { items } = await read(LISTS[kind], { search: name, limit: 50 });
    return items.find((item) => item.name === name)?.id ?? null;
  });
  const connection = useQuery(async (read) => {
    const id = props.entry.connection_id;
    return id === null ? null : (await read('connections.get', { id })).name;
  });
  const detail = useQuery((read) => read('logs.get', { call_id: props.entry.id }));
  return (
    <div class="stack">
      <Show when={detail.data()?.error_message}>
        {(message) => (
          <Notice tone="bad" title={`${WORDS.answered}: ${OUTCOME_WORDS[props.entry.outcome]}`}>
            <p class="logs-sentence">{message()}</p>
          </Notice>
        )}
      </Show>
      <Show when={detail.data()}>{(measures) => <Times of={measures()} />}</Show>
      <KeyValue
        items={[
          { label: WORDS.called, value: props.entry.name, mono: true, copy: props.entry.name },
          { label: WORDS.kind, value: KIND_WORDS[props.entry.kind] },
          {
            label: WORDS.result,
            value: (
              <Badge tone={props.entry.success ? 'good' : 'bad'}>
                {props.entry.success ? WORDS.ok : errorWord(props.entry.error)}
              </Badge>
            ),
          },
          props.entry.confirmation !== null && {
            label: WORDS.confirmation,
            value: CONFIRMATION_WORDS[props.entry.confirmation],
          },
          { label: WORDS.time, value: exactTime(props.entry.timestamp), copy: props.entry.timestamp },
          { label: WORDS.duration, value: duration(props.entry.duration_ms) },
          { label: WORDS.rows, value: props.entry.rows.toLocaleString('en') },
          ...measured(detail.data()),
          { label: WORDS.client, value: props.entry.client ?? '–' },
          { label: WORDS.token, value: props.entry.token_prefix ?? '–', mono: true },
          ...known(detail.data()),
          props.entry.connection_id !== null && {
            label: 'Connection',
            value: (
              <Link href={`/connections/${props.entry.connection_id}`}>{connection.data() ?? props.entry.connection_id}</Link>
            ),
          },
          { label: 'Version', value: props.entry.snapshot_version === null ? '–' : String(props.entry.snapshot_version) },
          { label: 'ID', value: props.entry.id, mono: true, copy: props.entry.id },
        ]}
      />
      <div class="row">
        <Show when={entity.data()}>
          {(id) => (
            <>
              <LinkButton href={`/${props.entry.kind}s/${id()}`}>Open definition</LinkButton>
              <KeepTest about={() => testOfCall(call, props.entry, id())} />
            </>
          )}
        </Show>
        <LinkButton href={metricsHref('24h', keyOf(props.entry.kind, props.entry.name))}>View metrics</LinkButton>
        <LinkButton href={`/playground?${new URLSearchParams({ [PLAYGROUND[props.entry.kind]]: props.entry.name })}`}>
          Run again in the playground
        </LinkButton>
        <Show when={!props.entry.success}>
          <LinkButton href={callsHref({ kind: props.entry.kind, name: props.entry.name, outcome: 'failed', range: '7d' })}>
            View all failures
          </LinkButton>
        </Show>
      </div>
    </div>
  );
}

type Detail = Output<'logs.get'>;
/** Of what is not there, no line. */
const line = (label: string, value: string | null, mono = true) =>
  value !== null && { label, value, mono, ...(mono ? { copy: value } : {}) };

const measured = (of: Detail | undefined) =>
  of === undefined
    ? []
    : [
        line('Size', bytes(of.bytes), false),
        line('Tokens', `About ${of.tokens.toLocaleString('en')}`, false),
        line('SQLSTATE', of.sqlstate),
      ];

const known = (of: Detail | undefined) =>
  of === undefined
    ? []
    : [
        line('Person', of.person),
        line('Token ID', of.token),
        line('Client ID', of.client_id),
        line('Session', of.session),
        line('Trace ID', of.trace_id),
      ];

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
