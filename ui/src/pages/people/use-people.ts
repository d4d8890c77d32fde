import { createSignal } from 'solid-js';
import type { Person } from '#core/contract/identity/people.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { toProblem } from '#ui/src/kernel/problem.ts';
import { WORDS } from './words.ts';

/** An invitation that was made just now and is not shown again. */
interface Invitation {
  readonly name: string;
  readonly url: string;
}

/** What an administrator does with people; each question says what it ends. */
export function usePeople() {
  const { call, dialogs, toasts } = useKernel();
  const [invitation, setInvitation] = createSignal<Invitation>();

  const attempt = async (work: () => Promise<unknown>, said?: string): Promise<void> => {
    try {
      await work();
      if (said !== undefined) toasts.show(said, 'good');
    } catch (fault) {
      toasts.show(toProblem(fault).detail, 'bad');
    }
  };
  const confirmed = async (title: string, text: string, action: string, work: () => Promise<unknown>, said?: string) => {
    if (await dialogs.confirm({ title, text, action, danger: true })) await attempt(work, said);
  };
  const makeLink = async ({ id, username }: Person): Promise<void> => {
    const { invite_url } = await call('people.invite', { id });
    setInvitation({ name: username, url: reachable(invite_url) });
  };

  return {
    invitation,
    dismiss: () => setInvitation(undefined),
    attempt,
    makeLink,
    invite: (person: Person) =>
      person.can_sign_in
        ? confirmed(WORDS.link_question(person.username), WORDS.link_text, WORDS.link_action, () => makeLink(person))
        : attempt(() => makeLink(person)),
    reset: ({ id, username }: Person) =>
      confirmed(
        WORDS.reset_question(username),
        WORDS.reset_text,
        WORDS.reset_action,
        () => call('people.reset_2fa', { id }),
        WORDS.was_reset(username),
      ),
    signOut: ({ id, username }: Person) =>
      confirmed(
        WORDS.sign_out_question(username),
        WORDS.sign_out_text,
        WORDS.sign_out_action,
        () => call('people.end_sessions', { id }),
        WORDS.was_signed_out(username),
      ),
    disable: ({ id, username, version }: Person) =>
      confirmed(
        WORDS.disable_question(username),
        WORDS.disable_text,
        WORDS.disable_action,
        () => call('people.update', { id, version, enabled: false }),
        WORDS.was_disabled(username),
      ),
    enable: ({ id, username, version }: Person) =>
      attempt(() => call('people.update', { id, version, enabled: true }), WORDS.was_enabled(username)),
    remove: ({ id, username }: Person) =>
      confirmed(
        WORDS.remove_question(username),
        WORDS.remove_text,
        WORDS.remove_action,
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
