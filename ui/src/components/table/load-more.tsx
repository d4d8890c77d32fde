import { Show } from 'solid-js';
import { num } from '#ui/src/kernel/numbers.ts';
import { Button } from '#ui/src/components/button.tsx';
import { passesFocus } from '#ui/src/components/form/passes-focus.ts';

/** Fewer are counted by a look. */
const COUNTED_FROM = 10;

/** How much of a list is shown, and the way to more. */
export function LoadMore(props: { shown: number; total: number; busy: boolean; onMore: () => void }) {
  return (
    <div class="load-more" hidden={props.total < COUNTED_FROM && props.shown >= props.total}>
      <span class="small faint num" role="status">
        {num(props.shown)} of {num(props.total)}
      </span>
      <Show when={props.shown < props.total}>
        <span ref={passesFocus}>
          <Button size="small" busy={props.busy} onPress={() => props.onMore()}>
            Show more
          </Button>
        </span>
      </Show>
    </div>
  );
}
