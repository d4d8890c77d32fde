import { Show } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { clock } from '#ui/src/kernel/words.ts';
import type { LoginFlow } from './login-flow.ts';

/** Sends a step of signing in, or says how long to wait. */
export function SignInButton(props: { flow: LoginFlow }) {
  return (
    <Button type="submit" kind="primary" busy={props.flow.busy()} blocked={props.flow.wait() > 0}>
      <Show when={props.flow.wait() > 0} fallback="Sign in">
        <span class="num">Try again in {clock(props.flow.wait())}</span>
      </Show>
    </Button>
  );
}
