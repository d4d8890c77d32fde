import { type JSX, Show } from 'solid-js';
import { Icon, type IconName } from './icon.tsx';

const ICONS = { plain: 'info', good: 'check', brass: 'alert', bad: 'alert' } as const satisfies Record<string, IconName>;

/** A sentence that needs attention where it stands. `live`: read out when it appears. */
export function Notice(props: { tone?: keyof typeof ICONS; live?: boolean; title?: JSX.Element; children?: JSX.Element }) {
  return (
    <div class="notice" data-tone={props.tone} role={props.live ? 'alert' : undefined}>
      <Icon name={ICONS[props.tone ?? 'plain']} />
      <div>
        <Show when={props.title}>
          <strong>{props.title}</strong>
        </Show>
        {props.children}
      </div>
    </div>
  );
}
