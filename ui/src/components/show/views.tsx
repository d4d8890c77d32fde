import { type JSX, Show } from 'solid-js';

/** Views of one page: only the open view is mounted. */
export function Views<V extends string>(props: { value: V; views: Readonly<Record<V, () => JSX.Element>> }) {
  return (
    <Show when={props.value} keyed>
      {(view) => <div class="tab-panel stack">{props.views[view]()}</div>}
    </Show>
  );
}
