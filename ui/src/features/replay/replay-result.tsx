import { createMemo, For, Match, Show, Switch } from 'solid-js';
import { type Replay, REPLAY_CHOICES, type ReplaySample } from '#core/contract/deploy/replay.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { Bullets } from '#ui/src/components/show/bullets.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { duration, plural } from '#ui/src/kernel/words.ts';
import { summary } from './words.ts';
import './replay.css';

const TONES = { changed: 'warning', failed: 'bad', slower: 'warning', skipped: 'plain' } as const;

type Pair = NonNullable<ReplaySample['rows']>[number];

/** What a replay found: how many calls, and each difference with its rows side by side. @param name of what was compared. */
export function ReplayResult(props: { replay: Replay; name: string }) {
  const faults = () => props.replay.hosts.flatMap(({ id, error }) => (error === null ? [] : [`${id}: ${error}`]));
  const differs = () => props.replay.changed + props.replay.failed + props.replay.slower > 0;
  return (
    <div class="stack" role="region" aria-label="Result of the replay">
      <Show when={faults().length > 0}>
        <Notice tone="bad" title={`${plural(faults().length, 'host')} could not take part`}>
          <Bullets of={faults()} />
        </Notice>
      </Show>
      <Switch>
        <Match when={props.replay.calls + props.replay.skipped === 0}>
          <EmptyState icon="refresh" title="No calls to replay">
            <p>Hosts store calls from now on. Call some read-only tools, then run the replay again.</p>
          </EmptyState>
        </Match>
        <Match when={true}>
          <Notice tone={props.replay.failed > 0 ? 'bad' : differs() ? 'warning' : 'good'} live title={summary(props.replay)}>
            <Show when={!differs() && props.replay.calls > 0}>
              <p>All results are the same.</p>
            </Show>
          </Notice>
        </Match>
      </Switch>
      <Show when={props.replay.notes.length > 0}>
        <div class="soft">
          <Bullets small label="Notes" of={props.replay.notes} />
        </div>
      </Show>
      <ul class="stack replay-samples" aria-label="Differences">
        <For each={props.replay.samples}>{(sample) => <Sample sample={sample} name={props.name} />}</For>
      </ul>
    </div>
  );
}

function Sample(props: { sample: ReplaySample; name: string }) {
  return (
    <li class="stack" data-gap="2">
      <span class="row">
        <span class="mono">{props.sample.tool}</span>
        <Badge tone={TONES[props.sample.outcome]}>{REPLAY_CHOICES[props.sample.outcome].label}</Badge>
        <Show when={props.sample.live_ms !== null && props.sample.ms !== null}>
          <span class="small faint num">
            {duration(props.sample.live_ms ?? 0)} → {duration(props.sample.ms ?? 0)}
          </span>
        </Show>
      </span>
      <p>{props.sample.difference}</p>
      <Show when={props.sample.rows?.length ? props.sample.rows : undefined}>
        {(rows) => <Rows pairs={rows()} name={props.name} />}
      </Show>
    </li>
  );
}

/** Pairs of rows, one above the other: values that differ are marked. */
function Rows(props: { pairs: readonly Pair[]; name: string }) {
  const columns = createMemo(() => [
    ...new Set(props.pairs.flatMap(({ live, other }) => [...Object.keys(live ?? {}), ...Object.keys(other ?? {})])),
  ]);
  return (
    <div class="replay-rows" role="group" tabindex="0" aria-label="Rows that differ">
      <table>
        <thead>
          <tr>
            <td />
            <For each={columns()}>{(name) => <th scope="col">{name}</th>}</For>
          </tr>
        </thead>
        <For each={props.pairs}>
          {(pair) => (
            <tbody>
              <Row row={pair.live} twin={pair.other} columns={columns()} name="Live" kind="removed" />
              <Row row={pair.other} twin={pair.live} columns={columns()} name={props.name} kind="added" />
            </tbody>
          )}
        </For>
      </table>
    </div>
  );
}

function Row(props: {
  row: Pair['live'];
  twin: Pair['live'];
  columns: readonly string[];
  name: string;
  kind: 'removed' | 'added';
}) {
  const differs = (name: string) => textOf(props.row?.[name]) !== textOf(props.twin?.[name]);
  return (
    <tr>
      <th scope="row">{props.name}</th>
      <Show when={props.row} fallback={<td colspan={props.columns.length}>No row</td>}>
        {(row) => (
          <For each={props.columns}>
            {(name) => (
              <td>
                <Show when={differs(name)} fallback={textOf(row()[name])}>
                  <mark class="diff-value" data-kind={props.kind}>
                    {textOf(row()[name])}
                  </mark>
                </Show>
              </td>
            )}
          </For>
        )}
      </Show>
    </tr>
  );
}

const textOf = (value: unknown): string =>
  value === undefined ? '' : typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
