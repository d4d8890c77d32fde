import { createSignal } from 'solid-js';
import type { Person } from '#core/contract/identity/people.ts';
import { useAct } from '#ui/src/components/use-act.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';

/** A new invitation, whose link is shown only once. */
interface Invitation {
  readonly name: string;
  readonly url: string;
}

/** The actions of an administrator on people; each confirmation states the consequences. */
export function usePeople() {
  const { call } = useKernel();
  const { act, ask } = useAct();
  const [invitation, setInvitation] = createSignal<Invitation>();

  const makeLink = async ({ id, username }: Person): Promise<void> => {
    const { invite_url } = await call('people.invite', { id });
    setInvitation({ name: username, url: reachable(invite_url) });
  };

  return {
    invitation,
    dismiss: () => setInvitation(undefined),
    act,
    makeLink,
    invite: (person: Person) =>
      person.can_sign_in
        ? ask(
            {
              title: `Create a new sign-in link for ${person.username}?`,
              text: 'The person sets a new password with this link. Earlier links stop working, and the person’s sessions end when the new link is used.',
              action: 'Create link',
            },
            () => makeLink(person),
          )
        : act(() => makeLink(person)),
    reset: ({ id, username }: Person) =>
      ask(
        {
          title: `Turn off the second factor of ${username}?`,
          text: 'They sign in with the password alone until they set it up again. Their sessions end.',
          action: 'Turn off',
        },
        () => call('people.reset_2fa', { id }),
        `The second factor of ${username} is off.`,
      ),
    signOut: ({ id, username }: Person) =>
      ask(
        {
          title: `Sign ${username} out everywhere?`,
          text: 'Their sessions and their tokens for MCP clients end now. They can sign in again.',
          action: 'Sign out',
        },
        () => call('people.end_sessions', { id }),
        `${username} is signed out.`,
      ),
    disable: ({ id, username, version }: Person) =>
      ask(
        {
          title: `Disable ${username}?`,
          text: 'They cannot sign in, and their sessions and tokens for MCP clients end now. You can enable them again.',
          action: 'Disable',
        },
        () => call('people.update', { id, version, enabled: false }),
        `${username} is disabled.`,
      ),
    enable: ({ id, username, version }: Person) =>
      act(() => call('people.update', { id, version, enabled: true }), `${username} is enabled.`),
    remove: ({ id, username }: Person) =>
      ask(
        {
          title: `Remove ${username}?`,
          text: 'The account is deleted and cannot be restored. The person’s changes stay in the history.',
          action: 'Remove',
        },
        () => call('people.delete', { id }),
        `${username} was removed.`,
      ),
  };
}

/** A server without a public address returns localhost, which is replaced by the origin of this page. */
function reachable(url: string): string {
  const { hostname, pathname, search, hash } = new URL(url);
  return hostname === '127.0.0.1' ? `${window.location.origin}${pathname}${search}${hash}` : url;
}
