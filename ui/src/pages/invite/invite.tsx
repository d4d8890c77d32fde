import { For, Show } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { CredentialFields, FormProblem } from '#ui/src/features/sign-in/credential-fields.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Entry } from '#ui/src/components/shell/entry.tsx';
import { createNewAccount } from '#ui/src/features/sign-in/new-account.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { toProblem } from '#ui/src/kernel/problem.ts';

/** The server's word for a link that was used, replaced or has expired. */
const OVER = 'not_found';

/** Where the link of an invitation leads: a password is set or an account at a provider chosen, and the person is signed in. */
export function Invite() {
  const { call, router, session, toasts } = useKernel();
  const token = window.location.hash.slice(1);
  const account = createNewAccount(router.query().get('name') ?? '', async (credentials) => {
    const result = await session.accept({ token, ...credentials });
    if (result !== 'signed_in' && !('pending_token' in result)) return result;
    if (result !== 'signed_in') toasts.show('Your password is set. Sign in with it and your second factor.', 'good');
    router.navigate(result === 'signed_in' ? '/' : '/login', { replace: true });
    return undefined;
  });
  const { problem, setProblem, busy, setBusy } = account;

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
  const over = () => token === '' || problem()?.code === OVER;
  const lead = () =>
    over()
      ? 'It has been used or replaced, or it has expired. Ask the person who sent it for a new one.'
      : `Choose the ${session.ways().password ? 'password' : 'account'} that you will sign in with.`;
  return (
    <Entry title={over() ? 'This invitation isn’t valid' : 'Accept the invitation'} lead={lead()}>
      <Show
        when={!over()}
        fallback={
          <div class="row">
            <LinkButton href="/login">Sign in</LinkButton>
          </div>
        }
      >
        <form class="stack" novalidate onSubmit={(event) => void account.submit(event)}>
          <Show when={session.ways().password} fallback={<FormProblem problem={problem()} fields={[]} />}>
            <CredentialFields {...account.fields} username_hint="You sign in with this name. You can change it." />
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
