import { createSignal, onCleanup, Show } from 'solid-js';
import { Entry } from '#ui/src/components/shell/entry.tsx';
import { Fault } from '#ui/src/components/notice.tsx';
import { ProviderButtons } from '#ui/src/features/sign-in/provider-buttons.tsx';
import { refusalOf } from '#ui/src/features/sign-in/refusals.ts';
import { safeNext } from '#ui/src/kernel/route/router.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { createLoginFlow } from '#ui/src/features/sign-in/login-flow.ts';
import { LOGIN_WORDS } from '#ui/src/kernel/words.ts';
import { PasswordForm } from '#ui/src/features/sign-in/password-form.tsx';
import { SecondFactor } from '#ui/src/features/sign-in/second-factor.tsx';

const TITLE = { password: 'Sign in', code: 'Second factor', recovery: 'Second factor' } as const;
const LEAD = {
  password: 'Use your account on this Sluice server.',
  code: LOGIN_WORDS.code_lead,
  recovery: LOGIN_WORDS.recovery_lead,
} as const;

export function Login() {
  const { session } = useKernel();
  const flow = createLoginFlow(session);
  const [username, setUsername] = createSignal('');
  onCleanup(() => flow.stop());
  const query = new URLSearchParams(window.location.search);
  const next = safeNext(query.get('next'), window.location.origin);
  const refusal = refusalOf(query.get('refused'));
  const first = () => flow.step() === 'password';

  return (
    <Entry title={TITLE[flow.step()]} lead={LEAD[flow.step()]}>
      <Fault text={first() ? refusal : undefined} />
      <Show when={first()}>
        <ProviderButtons next={next} />
      </Show>
      <Show when={first()} fallback={<SecondFactor flow={flow} />}>
        <Show when={session.ways().password}>
          <Show when={session.ways().providers.length > 0}>
            <p class="entry-or" role="separator">
              or with a password
            </p>
          </Show>
          <PasswordForm flow={flow} username={username()} onUsername={setUsername} />
        </Show>
      </Show>
    </Entry>
  );
}
