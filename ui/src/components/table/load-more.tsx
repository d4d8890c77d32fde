import { Show } from 'solid-js';
import { MOST_COUNTED } from '#core/contract/fields.ts';
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
        {num(props.shown)} of {totalText(props.shown, props.total)}
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

/** Long lists are counted up to `MOST_COUNTED`. Beyond it, their total is one more than the rows that were read, until the last page. */
const totalText = (shown: number, total: number): string =>
  total === MOST_COUNTED || (total > MOST_COUNTED && total === shown + 1) ? `more than ${num(total - 1)}` : num(total);
