import { createMemo, For, Show } from 'solid-js';
import type { HistoryEntry } from '#core/contract/history.ts';
import type { Output } from '#core/contract/index.ts';
import { Button } from '#ui/src/components/button.tsx';
import { Breakable } from '#ui/src/components/show/breakable.tsx';
import { Link, LinkButton } from '#ui/src/components/link.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { Ago } from '#ui/src/components/time.tsx';
import type { Diff } from '#ui/src/features/deploy/deployment.ts';
import { failureHref, type Period } from '#ui/src/kernel/metrics.ts';
import { callerWord, failureWord } from '#ui/src/kernel/metrics-words.ts';
import type { Problem } from '#ui/src/kernel/problem.ts';
import { actionWord, recordName, typeWord } from '#ui/src/kernel/record-words.ts';
import { plural } from '#ui/src/kernel/words.ts';
import { ChangeRisks } from '#ui/src/features/deploy/change-risks.tsx';
import { sortChanges } from '#ui/src/features/deploy/changes.ts';

type Failure = Output<'logs.failures'>['items'][number];

const SHOWN_CHANGES = 5;

/** What fails now: the newest failed calls, grouped by their error. */
export function FailuresPanel(props: {
  period: Period;
  failures: Output<'logs.failures'> | undefined;
  failed: Problem | undefined;
}) {
  const items = createMemo(() => props.failures?.items);
  const callsOf = ({ calls, callers }: Failure) => {
    const names = callers.map((name) => callerWord({ token_prefix: name })).join(', ');
    return `${plural(calls, 'call')}${names === '' ? '' : ` by ${names}`}`;
  };
  return (
    <Panel
      title="Latest failures"
      count={props.failures?.total}
      flush
      actions={
        <Show when={(props.failures?.total ?? 0) > 0}>
          <LinkButton href={`/logs?view=failures&range=${props.period}`} kind="quiet" size="small">
            View all failures
          </LinkButton>
        </Show>
      }
    >
      <Show when={props.failures} fallback={<SkeletonList rows={2} label="Latest failures" failed={props.failed} />}>
        <ul class="home-rows">
          <For each={items()} fallback={<li class="soft small">No failed calls in this period.</li>}>
            {(failure) => (
              <li>
                <span class="lines">
                  <Link href={failureHref(failure, props.period)} class="mono long-name">
                    <Breakable text={failure.name} />
                  </Link>
                  <span class="soft small truncate" title={failureWord(failure)}>
                    {failureWord(failure)}
                  </span>
                  <span class="faint small">{callsOf(failure)}</span>
                </span>
                <span class="faint">
                  <Ago iso={failure.last_at} />
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
        <ul class="home-rows">
          <For each={changes().slice(0, SHOWN_CHANGES)}>
            {(change) => (
              <li>
                <span class="mono long-name">
                  <Breakable text={change.name} />
                </span>
                <span class="soft">
                  {typeWord(change.entity_type)} {change.change}
                </span>
                <span class="row home-risks">
                  <ChangeRisks change={change} />
                </span>
              </li>
            )}
          </For>
          <Show when={changes().length > SHOWN_CHANGES}>
            <li>
              <Link
                href="/deploy"
                class="home-sentence"
              >{`and ${plural(changes().length - SHOWN_CHANGES, 'more', 'more')}`}</Link>
            </li>
          </Show>
        </ul>
      </Panel>
    </Show>
  );
}

/** In sentences such as `Ada changed the settings of shop`. */
const doneWord = (action: HistoryEntry['action']): string => (action === 'blocked' ? 'could not save' : actionWord(action));
const OBJECT_WORDS: Readonly<Partial<Record<HistoryEntry['entity_type'], string>>> = {
  server_config: 'the settings of',
  grant: 'sign-in of',
  signing_key: 'the',
};
const objectWord = (type: HistoryEntry['entity_type']): string => OBJECT_WORDS[type] ?? typeWord(type);

/** A version shows what it changed, a record its history. */
const hrefOf = ({ entity_type: type, entity_id: id }: HistoryEntry): string =>
  type === 'snapshot' ? '/deploy?view=versions' : `/history?${new URLSearchParams({ type, id })}`;

/** Who changed what. */
export function ActivityPanel(props: { history: Output<'history.list'> | undefined; failed: Problem | undefined }) {
  const items = createMemo(() => props.history?.items);
  return (
    <Panel
      title="Recent changes"
      flush
      actions={
        <LinkButton href="/history" kind="quiet" size="small">
          History and undo
        </LinkButton>
      }
    >
      <Show when={props.history} fallback={<SkeletonList rows={3} label="Recent changes" failed={props.failed} />}>
        <ul class="home-rows">
          <For each={items()} fallback={<li class="soft small">No changes yet.</li>}>
            {(entry) => (
              <li data-action={entry.action}>
                <Link href={hrefOf(entry)} class="home-sentence">
                  <b>{entry.actor.name}</b> {`${doneWord(entry.action)} ${objectWord(entry.entity_type)} `}
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
