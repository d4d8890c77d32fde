import { type JSX, Show } from 'solid-js';
import type { Problem } from '#ui/src/kernel/problem.ts';
import { Button } from './button.tsx';
import { LinkButton } from './link.tsx';
import { Notice } from './notice.tsx';

interface Footed {
  readonly problem: () => Problem | undefined;
  readonly errors: () => ReadonlyMap<string, string>;
  readonly busy: () => boolean;
  readonly dirty: () => boolean;
}

/** The end of a form: what failed as a whole, the button that saves, the way out. */
export function FormFoot(props: {
  form: Footed;
  submit: string;
  /** Save also when nothing was changed (a new record). */
  always?: boolean;
  cancel_href?: string;
  onCancel?: () => void;
  children?: JSX.Element;
}) {
  return (
    <div class="form-foot">
      <Show when={props.form.problem()}>
        {(problem) => (
          <Notice tone="bad" live>
            <p>{problem().detail}</p>
          </Notice>
        )}
      </Show>
      <div class="row">
        <Button type="submit" kind="primary" busy={props.form.busy()} blocked={props.always !== true && !props.form.dirty()}>
          {props.submit}
        </Button>
        <Show when={props.cancel_href}>
          {(href) => (
            <LinkButton href={href()} kind="quiet">
              Cancel
            </LinkButton>
          )}
        </Show>
        <Show when={props.onCancel}>
          {(cancel) => (
            <Button kind="quiet" onPress={() => cancel()()}>
              Cancel
            </Button>
          )}
        </Show>
        {props.children}
        <Show when={props.always !== true && props.form.dirty() && !props.form.busy()}>
          <span class="small faint">Not saved yet</span>
        </Show>
      </div>
    </div>
  );
}
