import { type JSX, Show } from 'solid-js';
import type { Problem } from '#ui/src/kernel/problem.ts';
import { Button } from './button.tsx';
import { Icon, type IconName } from './icon.tsx';
import { Sentence } from '#ui/src/components/show/sentence.tsx';

const ICONS = { plain: 'info', good: 'check', warning: 'alert', bad: 'alert' } as const satisfies Record<string, IconName>;

/** A sentence that needs attention where it stands. `live`: read out when it appears. */
export function Notice(props: {
  tone?: keyof typeof ICONS;
  live?: boolean;
  title?: JSX.Element;
  action?: JSX.Element;
  children?: JSX.Element;
}) {
  return (
    <div class="notice" data-tone={props.tone} role={props.live ? 'alert' : undefined}>
      <Icon name={ICONS[props.tone ?? 'plain']} />
      <div>
        <Show when={props.title}>
          <strong>{props.title}</strong>
        </Show>
        {props.children}
        <Show when={props.action}>
          <div class="row notice-action">{props.action}</div>
        </Show>
      </div>
    </div>
  );
}

function titleOf({ code, retried }: Problem): string | undefined {
  if (code === 'offline') return retried ? 'Offline: trying again' : 'Offline: try again';
  if (retried) return code === 'rate_limited' ? 'Too many requests: trying again' : 'Not available: trying again';
  return undefined;
}

/** Why something could not be read or done, and the way to try again. */
export function ProblemNotice(props: { problem: Problem; onRetry?: (() => void) | undefined }) {
  return (
    <Notice
      tone="bad"
      live
      title={titleOf(props.problem)}
      action={
        <Show when={props.onRetry}>
          {(retry) => (
            <Button size="small" onPress={() => retry()()}>
              Try again
            </Button>
          )}
        </Show>
      }
    >
      <p>
        <Sentence>{props.problem.detail}</Sentence>
      </p>
    </Notice>
  );
}

/** The notice of a problem while there is one, with the way to try again where there is one. */
export function Failed(props: { of: { readonly problem: () => Problem | undefined; readonly reload?: () => Promise<void> } }) {
  return (
    <Show when={props.of.problem()}>
      {(problem) => <ProblemNotice problem={problem()} onRetry={props.of.reload && (() => void props.of.reload?.())} />}
    </Show>
  );
}

/** Why something was refused, read out when it appears. */
export function Fault(props: { text: string | null | undefined; title?: string; action?: JSX.Element }) {
  return (
    <Show when={props.text}>
      {(text) => (
        <Notice tone="bad" live title={props.title} action={props.action}>
          <p>{text()}</p>
        </Notice>
      )}
    </Show>
  );
}
