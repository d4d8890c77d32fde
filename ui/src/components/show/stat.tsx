import { type JSX, Show } from 'solid-js';
import type { Tone } from '#ui/src/components/badge.tsx';
import { Link } from '#ui/src/components/link.tsx';

export function StatGrid(props: { children: JSX.Element }) {
  return <dl class="stats">{props.children}</dl>;
}

/** One number with its name; the whole tile is a link when it leads somewhere. */
export function Stat(props: {
  label: string;
  value: JSX.Element;
  hint?: JSX.Element;
  tone?: Tone;
  href?: string | undefined;
  spark?: JSX.Element;
}) {
  return (
    <div class="stat" data-tone={props.tone}>
      <dt>
        <Show when={props.href} fallback={props.label}>
          {(href) => (
            <Link href={href()} class="stat-link">
              {props.label}
            </Link>
          )}
        </Show>
      </dt>
      <dd class="stat-value num">{props.value}</dd>
      <Show when={props.hint}>
        <dd class="stat-hint">{props.hint}</dd>
      </Show>
      <Show when={props.spark}>
        <dd>{props.spark}</dd>
      </Show>
    </div>
  );
}
