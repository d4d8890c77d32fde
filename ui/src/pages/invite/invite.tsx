import { focusInvalid } from '#ui/src/components/form/focus-invalid.ts';
import { createSignal, For, Show } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { CredentialFields, FormProblem } from '#ui/src/features/sign-in/credential-fields.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { Entry } from '#ui/src/components/shell/entry.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { type Problem, toProblem } from '#ui/src/kernel/problem.ts';
import { missingCredentials } from '#ui/src/kernel/session.ts';

const SHORTEST = 8;
/** The server's word for a link that was used, replaced or has expired. */
const OVER = 'not_found';

/** Where the link of an invitation leads: a password is set or an account at a provider chosen, and the person is signed in. */
export function Invite() {
  const { call, router, session, toasts } = useKernel();
  const token = window.location.hash.slice(1);
  const [username, setUsername] = createSignal(router.query().get('name') ?? '');
  const [password, setPassword] = createSignal('');
  const [problem, setProblem] = createSignal<Problem>();
  const [busy, setBusy] = createSignal(false);

  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    if (busy()) return;
    const credentials = { username: username().trim(), password: password() };
    setProblem(missingCredentials(credentials, SHORTEST));
    if (problem() === undefined) {
      setBusy(true);
      const result = await session.accept({ token, ...credentials });
      setBusy(false);
      if (result === 'signed_in') return router.navigate('/', { replace: true });
      if ('pending_token' in result) {
        toasts.show('Your password is set. Sign in with it and your second factor.', 'good');
        return router.navigate('/login', { replace: true });
      }
      setProblem(result);
    }
    void focusInvalid(form);
  };

  const through = async (provider_id: string) => {
    setBusy(true);
    try {
      const { redirect_to } = await call('auth.accept_invite_through', { token, provider_id });
      window.location.assign(redirect_to);
    } catch (fault) {
      setProblem(toProblem(fault));
      setBusy(false);
    }
  };
  return (
    <Entry
      title="Accept the invitation"
      lead={
        session.ways().password
          ? 'Choose the password that you will sign in with.'
          : 'Choose the account that you will sign in with.'
      }
    >
      <Show
        when={token !== '' && problem()?.code !== OVER}
        fallback={
          <div class="stack">
            <Notice tone="bad" live title="This invitation isn’t valid">
              <p>It was used, replaced or has expired. Ask the person who sent it for a new one.</p>
            </Notice>
            <div class="row">
              <LinkButton href="/login">Sign in</LinkButton>
            </div>
          </div>
        }
      >
        <form class="stack" novalidate onSubmit={(event) => void submit(event)}>
          <Show when={session.ways().password} fallback={<FormProblem problem={problem()} fields={[]} />}>
            <CredentialFields
              username={username()}
              onUsername={setUsername}
              username_hint="You sign in with this name. You can change it."
              password={password()}
              onPassword={setPassword}
              problem={problem()}
              fresh
            />
          </Show>
          <Show when={session.ways().password}>
            <Button type="submit" kind="primary" busy={busy()}>
              Set password and sign in
            </Button>
          </Show>
          <For each={session.ways().providers}>
            {({ id, name }) => (
              <Button icon="key" busy={busy()} onPress={() => void through(id)}>
                Continue with {name}
              </Button>
            )}
          </For>
        </form>
      </Show>
    </Entry>
  );
}
