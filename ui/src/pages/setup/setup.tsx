import { focusInvalid } from '#ui/src/components/form/focus-invalid.ts';
import { createSignal } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { Entry } from '#ui/src/components/shell/entry.tsx';
import { CredentialFields } from '#ui/src/features/sign-in/credential-fields.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import type { Problem } from '#ui/src/kernel/problem.ts';
import { missingCredentials } from '#ui/src/kernel/session.ts';

/** Creates the first account, the owner. */
export function Setup() {
  const { session, toasts, router, first_run } = useKernel();
  const [username, setUsername] = createSignal('');
  const [password, setPassword] = createSignal('');
  const [problem, setProblem] = createSignal<Problem>();
  const [busy, setBusy] = createSignal(false);

  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    if (busy()) return;
    const credentials = { username: username().trim(), password: password() };
    setProblem(missingCredentials(credentials, 8));
    if (problem() === undefined) {
      setBusy(true);
      const result = await session.setup(credentials);
      setBusy(false);
      if (result === 'signed_in') {
        first_run.begin();
        await first_run.reload();
        if (first_run.next() === 'connect' || first_run.next() === 'tool') router.navigate('/welcome', { replace: true });
        return;
      }
      // The page is about to become the login page.
      if (result.code === 'conflict') toasts.show('This server is already set up. Sign in instead.');
      setProblem(result);
    }
    void focusInvalid(form);
  };

  return (
    <Entry
      title="Create the owner"
      lead="This account owns the server: its connections, its tools and who may use them. It invites everybody else."
    >
      <form class="stack" novalidate onSubmit={(event) => void submit(event)}>
        <CredentialFields
          username={username()}
          onUsername={setUsername}
          password={password()}
          onPassword={setPassword}
          problem={problem()}
          fresh
        />
        <Button type="submit" kind="primary" busy={busy()}>
          Create owner
        </Button>
      </form>
    </Entry>
  );
}
