import { type JSX, Show } from 'solid-js';

export type Tone = 'plain' | 'good' | 'water' | 'brass' | 'bad';

export function Badge(props: { tone?: Tone; dot?: boolean; pulse?: boolean; title?: string; children: JSX.Element }) {
  return (
    <span class="badge" data-tone={props.tone} title={props.title}>
      <Show when={props.dot}>
        <span class="dot" data-pulse={props.pulse ? 'true' : undefined} />
      </Show>
      {props.children}
    </span>
  );
}
