import { Breakable } from '#ui/src/components/show/breakable.tsx';
import { For, Show } from 'solid-js';
import { IconButton } from '#ui/src/components/button.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { StatusDot } from '#ui/src/components/badge.tsx';
import { Ago } from '#ui/src/components/time.tsx';
import type { Members } from '#core/lib/view/table.ts';
import { cellText } from '#core/lib/csv.ts';
import { duration } from '#ui/src/kernel/words.ts';
import { refusalTitle } from '#ui/src/features/run/mcp-client.ts';
import type { SavedCall, SavedCalls } from './saved-calls.ts';
import { type Playground, type Run, toneOf } from './state.ts';
import { passesFocus } from '#ui/src/components/form/passes-focus.ts';

const valuesInWords = (values: Members): string =>
  Object.entries(values)
    .map(([name, value]) => `${name}: ${cellText(value)}`)
    .join(', ');

/** The last calls, to look at or to make again, and the calls that were saved for later. */
export function History(props: {
  state: Playground;
  saved: SavedCalls;
  onAgain: (run: Run) => void;
  onSaved: (call: SavedCall) => void;
}) {
  const again = (run: Run) => {
    props.state.show(run);
    props.onAgain(run);
  };
  const callOf = ({ offer, values }: Run): SavedCall => ({ key: offer.key, values });
  return (
    <>
      <Show when={props.saved.calls().length > 0}>
        <Panel title="Saved calls" flush>
          <ul class="play-runs">
            <For each={props.saved.calls()}>
              {(call) => (
                <li class="play-row" ref={passesFocus}>
                  <button type="button" class="play-run" onClick={() => props.onSaved(call)}>
                    <span class="grow lines">
                      <span class="mono long-name">
                        <Breakable text={call.key.slice(call.key.indexOf(':') + 1)} />
                      </span>
                      <span class="faint small truncate">{valuesInWords(call.values)}</span>
                    </span>
                  </button>
                  <IconButton
                    icon="trash"
                    label={`Remove the saved call of ${call.key}`}
                    size="small"
                    onPress={() => props.saved.remove(call)}
                  />
                </li>
              )}
            </For>
          </ul>
        </Panel>
      </Show>
      <Panel
        title="Recent calls"
        lead="Kept in this browser tab until you sign out."
        actions={
          <Show when={props.state.runs().length > 0}>
            <IconButton icon="trash" label="Clear recent calls" size="small" onPress={props.state.forget} />
          </Show>
        }
        flush
      >
        <ul class="play-runs">
          <For each={props.state.runs()} fallback={<li class="small soft play-none">No calls yet.</li>}>
            {(run) => (
              <li class="play-row">
                <button
                  type="button"
                  class="play-run"
                  aria-current={props.state.shown()?.id === run.id ? 'true' : undefined}
                  onClick={() => again(run)}
                >
                  <StatusDot tone={toneOf(run)} label={labelOf(run)} hide_label />
                  <span class="grow lines">
                    <span class="mono long-name">
                      <Breakable text={run.offer.name} />
                    </span>
                    <span class="faint small num">
                      {duration(run.ms)}, <Ago iso={run.at} />
                    </span>
                  </span>
                </button>
                <Show when={!props.saved.has(callOf(run))}>
                  <IconButton
                    ref={passesFocus}
                    icon="plus"
                    label={`Save this call of ${run.offer.name}`}
                    size="small"
                    onPress={() => props.saved.save(callOf(run))}
                  />
                </Show>
              </li>
            )}
          </For>
        </ul>
      </Panel>
    </>
  );
}

const labelOf = ({ refusal, result }: Run): string =>
  refusal !== undefined ? refusalTitle(refusal) : result?.is_error === true ? 'Tool error' : 'Result';
