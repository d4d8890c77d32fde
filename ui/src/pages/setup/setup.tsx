import { Button } from '#ui/src/components/button.tsx';
import { Entry } from '#ui/src/components/shell/entry.tsx';
import { CredentialFields } from '#ui/src/features/sign-in/credential-fields.tsx';
import { createNewAccount } from '#ui/src/features/sign-in/new-account.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';

/** Creates the first account, the owner. */
export function Setup() {
  const { session, toasts, router, first_run } = useKernel();
  const { fields, busy, submit } = createNewAccount('', async (credentials) => {
    const result = await session.setup(credentials);
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
        <CredentialFields {...fields} />
        <Button type="submit" kind="primary" busy={busy()}>
          Create owner
        </Button>
      </form>
    </Entry>
  );
}
