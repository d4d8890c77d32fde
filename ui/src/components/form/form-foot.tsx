import { createEffect, createSignal, type JSX, Show } from 'solid-js';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import type { Problem } from '#ui/src/kernel/problem.ts';
import { Button } from '#ui/src/components/button.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Fault } from '#ui/src/components/notice.tsx';

interface Footed {
  readonly problem: () => Problem | undefined;
  readonly errors: () => ReadonlyMap<string, string>;
  readonly busy: () => boolean;
  readonly dirty: () => boolean;
  reset(): void;
}

/** The end of a form: the general error, Cancel, an optional test, the submit button. */
export function FormFoot(props: {
  form: Footed;
  submit: string;
  /** Allows saving without changes (a new record). */
  always?: boolean;
  cancel_href?: string;
  onCancel?: () => void;
  children?: JSX.Element;
}) {
  const { session } = useKernel();
  // The sign-in dialog reports an ended session; after signing in it is no error of the form.
  const [ended, setEnded] = createSignal<Problem>();
  createEffect(() => {
    const failed = props.form.problem();
    if (session.state() === 'expired' && failed?.code === 'unauthenticated') setEnded(failed);
  });
  const problem = () => (props.form.problem() === ended() ? undefined : props.form.problem());
  const changed = () => props.always !== true && props.form.dirty();
  return (
    <div class="stack form-foot" data-gap="3">
      <Fault text={problem()?.detail} />
      <div class="row">
        <Show when={props.cancel_href}>{(href) => <LinkButton href={href()}>Cancel</LinkButton>}</Show>
        <Show when={props.onCancel}>
          {(cancel) => (
            <Button blocked={props.form.busy()} onPress={() => cancel()()}>
              Cancel
            </Button>
          )}
        </Show>
        <Show when={changed()}>
          <Button onPress={() => props.form.reset()}>Discard</Button>
        </Show>
        {props.children}
        <Button type="submit" kind="primary" busy={props.form.busy()} blocked={props.always !== true && !props.form.dirty()}>
          {props.submit}
        </Button>
        <Show when={changed() && !props.form.busy()}>
          <span class="small faint">Not saved yet</span>
        </Show>
      </div>
    </div>
  );
}
