import { Show } from 'solid-js';
import { Badge } from '#ui/src/components/badge.tsx';
import { Drawer } from '#ui/src/components/dialog.tsx';
import { KeyValue } from '#ui/src/components/show/key-value.tsx';
import { Link, LinkButton } from '#ui/src/components/link.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { KeepTest } from '#ui/src/features/tests/keep-test.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { exactTime } from '#ui/src/kernel/dates.ts';
import { callsHref, keyOf, metricsHref } from '#ui/src/kernel/metrics.ts';
import { duration } from '#ui/src/kernel/words.ts';
import { errorWord, KIND_WORDS } from '#ui/src/kernel/metrics-words.ts';
import type { CallEntry } from './download.ts';
import { testOfCall } from './test-of-call.ts';
import { CONFIRMATION_WORDS, WORDS } from './words.ts';

/** One call: what is known of it, and where to go on. */
export function CallDrawer(props: { entry: CallEntry | undefined; onClose: () => void }) {
  return (
    <Drawer open={props.entry !== undefined} title="Call" lead="Arguments and results are not logged." onClose={props.onClose}>
      <Show when={props.entry}>{(entry) => <Detail entry={entry()} />}</Show>
    </Drawer>
  );
}

const LISTS = { tool: 'tools.list', resource: 'resources.list', prompt: 'prompts.list' } as const;
const PLAYGROUND = { tool: 'tool', resource: 'resource', prompt: 'prompt' } as const;

function Detail(props: { entry: CallEntry }) {
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
  return (
    <div class="stack">
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
          { label: WORDS.wait, value: duration(props.entry.wait_ms) },
          { label: WORDS.rows, value: props.entry.rows.toLocaleString('en') },
          { label: WORDS.client, value: props.entry.client ?? '–' },
          { label: WORDS.token, value: props.entry.token_prefix ?? '–', mono: true },
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
          Try it in the playground
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
