import { type JSX, Show } from 'solid-js';

export type Tone = 'plain' | 'good' | 'info' | 'warning' | 'bad';

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

/** A state at a glance; the word is always there, at least for those who hear the page. */
export function StatusDot(props: { tone: Tone; label: string; pulse?: boolean; hide_label?: boolean }) {
  return (
    <span class="status" data-tone={props.tone} title={props.hide_label ? props.label : undefined}>
      <span class="dot" data-pulse={props.pulse ? 'true' : undefined} />
      <span classList={{ 'visually-hidden': props.hide_label === true }}>{props.label}</span>
    </span>
  );
}
