import { For, Show } from 'solid-js';
import { IconButton } from '#ui/src/components/button.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { StatusDot } from '#ui/src/components/badge.tsx';
import { Ago } from '#ui/src/components/time.tsx';
import type { Playground, Run } from '#ui/src/kernel/playground.ts';
import { duration } from '#ui/src/kernel/words.ts';
import { WORDS } from './words.ts';

/** The calls of this visit, to be looked at or tried again. */
export function History(props: { state: Playground; onAgain: (run: Run) => void }) {
  const again = (run: Run) => {
    props.state.show(run);
    props.onAgain(run);
  };
  return (
    <Panel
      title={WORDS.history}
      lead={WORDS.history_text}
      actions={
        <Show when={props.state.runs().length > 0}>
          <IconButton icon="trash" label={WORDS.forget} size="small" onPress={props.state.forget} />
        </Show>
      }
      flush
    >
      <ul class="play-runs">
        <For each={props.state.runs()} fallback={<li class="small soft play-none">{WORDS.no_history}</li>}>
          {(run) => (
            <li>
              <button
                type="button"
                class="play-run"
                aria-current={props.state.shown()?.id === run.id ? 'true' : undefined}
                onClick={() => again(run)}
              >
                <StatusDot tone={toneOf(run)} label={labelOf(run)} hide_label />
                <span class="mono truncate grow">{run.offer.name}</span>
                <span class="faint small num">{duration(run.ms)}</span>
                <span class="faint small">
                  <Ago iso={run.at} />
                </span>
              </button>
            </li>
          )}
        </For>
      </ul>
    </Panel>
  );
}

const toneOf = ({ refusal, result }: Run) => (refusal !== undefined ? 'bad' : result?.is_error === true ? 'brass' : 'good');
const labelOf = ({ refusal, result }: Run): string =>
  refusal !== undefined ? WORDS.refused : result?.is_error === true ? WORDS.failed : WORDS.result;
