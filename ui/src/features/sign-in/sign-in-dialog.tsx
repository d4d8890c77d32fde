import { createSignal, onCleanup, Show } from 'solid-js';
import { Dialog } from '#ui/src/components/dialog.tsx';
import { usePoll } from '#ui/src/components/use-query.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { createLoginFlow } from './login-flow.ts';
import { ProviderButtons } from './provider-buttons.tsx';
import { PasswordForm } from './password-form.tsx';
import { SecondFactor } from './second-factor.tsx';

/** Every tab of the browser shows this dialog: signing in closes it in all of them. */
const REJOIN_MS = 2_000;

/** The session has ended while somebody was at work: they sign in again where they are, and nothing typed is lost. */
export function SignInDialog() {
  const { session } = useKernel();
  const flow = createLoginFlow(session);
  const [username, setUsername] = createSignal(session.username());
  onCleanup(() => flow.stop());
  usePoll(() => session.rejoin(), REJOIN_MS);
  const why = () =>
    session.replaced() ? `Someone else signed in with this browser, and this page belongs to ${session.username()}. ` : '';
  return (
    <Dialog
      open
      size="small"
      title="Your session has ended"
      lead={`${why()}Sign in again to continue. ${
        session.ways().password ? 'Nothing on this page is lost.' : 'Signing in through a provider reloads this page.'
      }`}
      onClose={() => session.leave()}
    >
      <Show when={flow.step() === 'password'} fallback={<SecondFactor flow={flow} />}>
        <Show when={session.ways().password}>
          <PasswordForm flow={flow} username={username()} onUsername={setUsername} />
        </Show>
        <ProviderButtons next={`${window.location.pathname}${window.location.search}`} />
      </Show>
    </Dialog>
  );
}
