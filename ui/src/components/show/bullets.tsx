import { For, Show } from 'solid-js';
import { Sentence } from './sentence.tsx';

/** Sentences, one below the other; nothing when there are none. */
export function Bullets(props: { of: readonly string[]; small?: boolean; label?: string; tabindex?: number | undefined }) {
  return (
    <Show when={props.of.length > 0}>
      <ul class="bullets" classList={{ small: props.small === true }} aria-label={props.label} tabindex={props.tabindex}>
        <For each={props.of}>
          {(line) => (
            <li>
              <Sentence>{line}</Sentence>
            </li>
          )}
        </For>
      </ul>
    </Show>
  );
}
