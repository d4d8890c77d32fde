import { createSignal } from 'solid-js';
import type { Person } from '#core/contract/identity/people.ts';
import { useAct } from '#ui/src/components/use-act.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { WORDS } from './words.ts';

/** An invitation that was made just now and is not shown again. */
interface Invitation {
  readonly name: string;
  readonly url: string;
}

/** What an administrator does with people; each question says what it ends. */
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
        ? ask({ title: WORDS.link_question(person.username), text: WORDS.link_text, action: WORDS.link_action }, () =>
            makeLink(person),
          )
        : act(() => makeLink(person)),
    reset: ({ id, username }: Person) =>
      ask(
        { title: WORDS.reset_question(username), text: WORDS.reset_text, action: WORDS.reset_action },
        () => call('people.reset_2fa', { id }),
        WORDS.was_reset(username),
      ),
    signOut: ({ id, username }: Person) =>
      ask(
        { title: WORDS.sign_out_question(username), text: WORDS.sign_out_text, action: WORDS.sign_out_action },
        () => call('people.end_sessions', { id }),
        WORDS.was_signed_out(username),
      ),
    disable: ({ id, username, version }: Person) =>
      ask(
        { title: WORDS.disable_question(username), text: WORDS.disable_text, action: WORDS.disable_action },
        () => call('people.update', { id, version, enabled: false }),
        WORDS.was_disabled(username),
      ),
    enable: ({ id, username, version }: Person) =>
      act(() => call('people.update', { id, version, enabled: true }), WORDS.was_enabled(username)),
    remove: ({ id, username }: Person) =>
      ask(
        { title: WORDS.remove_question(username), text: WORDS.remove_text, action: WORDS.remove_action },
        () => call('people.delete', { id }),
        WORDS.was_removed(username),
      ),
  };
}

/** A server that knows no public address names this machine: then it is where this page came from. */
function reachable(url: string): string {
  const { hostname, pathname, search, hash } = new URL(url);
  return hostname === '127.0.0.1' ? `${window.location.origin}${pathname}${search}${hash}` : url;
}
