import { createSignal, Show } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { Entry } from '#ui/src/components/shell/entry.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { CredentialFields } from '#ui/src/features/sign-in/credential-fields.tsx';
import { createNewAccount } from '#ui/src/features/sign-in/new-account.ts';
import { fieldError } from '#ui/src/kernel/problem.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';

/** Creates the first account, the owner. */
export function Setup() {
  const { session, toasts, router, first_run } = useKernel();
  const [setup_token, setSetupToken] = createSignal('');
  const { fields, problem, busy, submit } = createNewAccount('', async (credentials) => {
    const result = await session.setup({ ...credentials, ...(setup_token() !== '' && { setup_token: setup_token() }) });
    if (result === 'signed_in') {
      first_run.begin();
      await first_run.reload();
      if (first_run.next() === 'connect' || first_run.next() === 'tool') router.navigate('/welcome', { replace: true });
      return undefined;
    }
    // The page is about to become the login page.
    if (result.code === 'conflict') toasts.show('This server is already set up. Sign in instead.');
    return result;
  });

  return (
    <Entry
      title="Create the owner"
      lead="The owner manages the server, its connections and tools, and who may use them, and invites everyone else."
    >
      <form class="stack" novalidate onSubmit={(event) => void submit(event)}>
        <CredentialFields {...fields} others={['setup_token']} />
        <Show when={session.setup_token_required()}>
          <TextField
            label="Setup token"
            name="setup_token"
            type="password"
            autocomplete="off"
            hint="The value of SVC_SETUP_TOKEN of the server."
            value={setup_token()}
            onInput={setSetupToken}
            error={fieldError(problem(), 'setup_token')}
          />
        </Show>
        <Button type="submit" kind="primary" busy={busy()}>
          Create owner
        </Button>
      </form>
    </Entry>
  );
}
