import { Show } from 'solid-js';
import type { Totals as Counts } from '#core/contract/deploy/deploy.ts';
import { countsInWords, plural } from '#ui/src/kernel/words.ts';

export const OFFERED = ['tool', 'resource', 'prompt', 'connection'] as const;

/** How much clients are offered after the next deploy, and what the tools cost each of their conversations. */
export function Totals(props: { totals: Counts | undefined }) {
  return (
    <Show when={props.totals}>
      {(totals) => (
        <p class="small soft num">
          {countsInWords(
            totals(),
            OFFERED.filter((kind) => totals()[`${kind}s`] > 0),
          )}
          <Show when={totals().tool_tokens > 0}>
            . The tools add about {plural(totals().tool_tokens, 'token')} to every conversation.
          </Show>
        </p>
      )}
    </Show>
  );
}
