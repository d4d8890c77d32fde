import { createSignal } from 'solid-js';
import { focusInvalid } from '#ui/src/components/form/focus-invalid.ts';
import type { Problem } from '#ui/src/kernel/problem.ts';
import { type Credentials, missingCredentials } from '#ui/src/kernel/session.ts';

const SHORTEST = 8;

/**
 * The name and the password that somebody chooses, for `CredentialFields`.
 * @param send returns what was wrong with them.
 */
export function createNewAccount(name: string, send: (credentials: Credentials) => Promise<Problem | undefined>) {
  const [username, setUsername] = createSignal(name);
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
      const found = await send(credentials).finally(() => setBusy(false));
      if (found === undefined) return;
      setProblem(found);
    }
    void focusInvalid(form);
  };
  const fields = {
    get username() {
      return username();
    },
    onUsername: setUsername,
    get password() {
      return password();
    },
    onPassword: setPassword,
    get problem() {
      return problem();
    },
    fresh: true,
  };
  return { fields, problem, setProblem, busy, setBusy, submit };
}
