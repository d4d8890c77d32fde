import { createSignal, onCleanup, Show } from 'solid-js';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { createLoginFlow } from './login-flow.ts';
import { PasswordForm } from './password-form.tsx';
import { ProviderButtons } from './provider-buttons.tsx';
import { SecondFactor } from './second-factor.tsx';

/** Every way to sign in, on a page that somebody was led to and that stays. */
export function SignInHere() {
  const { session } = useKernel();
  const flow = createLoginFlow(session);
  const next = `${window.location.pathname}${window.location.search}`;
  const [username, setUsername] = createSignal('');
  onCleanup(() => flow.stop());
  return (
    <Show when={flow.step() === 'password'} fallback={<SecondFactor flow={flow} />}>
      <ProviderButtons next={next} />
      <Show when={session.ways().password}>
        <PasswordForm flow={flow} username={username()} onUsername={setUsername} />
      </Show>
    </Show>
  );
}
