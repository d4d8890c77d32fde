import { For, Show } from 'solid-js';

const WIDTHS = ['half', 'long', 'short', 'long'] as const;

/** What stands where a list will be; nothing under an error, `failed`, that is shown above it. */
export function SkeletonList(props: { rows: number; label: string; failed?: object | undefined }) {
  return (
    <Show when={props.failed === undefined}>
      <ul class="list" aria-busy="true" aria-label={props.label}>
        <For each={Array.from({ length: props.rows }, (_, index) => index)}>
          {(index) => (
            <li class="stack" data-gap="2">
              <span class="skeleton" data-width={WIDTHS[index % 2]} />
              <span class="skeleton" data-width={WIDTHS[(index + 1) % 4]} />
            </li>
          )}
        </For>
      </ul>
    </Show>
  );
}

/** One line that will be there. */
export function Skeleton(props: { width?: 'short' | 'half' | 'long'; height?: string }) {
  return <span class="skeleton" data-width={props.width} style={{ height: props.height }} aria-hidden="true" />;
}
