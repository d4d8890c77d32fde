import { Show } from 'solid-js';
import type { Progress } from '#core/contract/observe/progress.ts';
import { num } from '#ui/src/kernel/numbers.ts';
import { plural } from '#ui/src/kernel/words.ts';

/** How far a long change is, as soon as the server says so. @param steps what each of its steps does. */
export function WorkProgress(props: { of: Progress | undefined; steps: Readonly<Record<Progress['step'], string>> }) {
  return (
    <Show when={props.of}>
      {(now) => (
        <div class="stack" data-gap="2">
          <progress class="work-progress" max={now().of} value={now().done} aria-label={props.steps[now().step]} />
          <p class="small soft num">{`${props.steps[now().step]}: ${num(now().done)} of ${plural(now().of, 'record')}`}</p>
        </div>
      )}
    </Show>
  );
}
