import { Show } from 'solid-js';
import type { Test } from '#core/contract/definitions/tests.ts';
import { StatusDot } from '#ui/src/components/badge.tsx';
import { Bullets } from '#ui/src/components/show/bullets.tsx';
import { Ago } from '#ui/src/components/time.tsx';
import { duration } from '#ui/src/kernel/words.ts';
import { stateOf } from './words.ts';

/** What the newest run of a test found. */
export function LastResult(props: { test: Test }) {
  const state = () => stateOf(props.test.last?.status);
  return (
    <div class="stack" data-gap="2">
      <span class="row">
        <StatusDot tone={state().tone} label={state().label} />
        <Show when={props.test.last}>
          {(last) => (
            <span class="small faint num">
              {duration(last().ms)}, <Ago iso={last().created_at} />
            </span>
          )}
        </Show>
      </span>
      <Bullets small of={props.test.last?.failures ?? []} />
    </div>
  );
}
