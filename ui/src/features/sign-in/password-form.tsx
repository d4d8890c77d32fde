import { focusInvalid } from '#ui/src/components/form/focus-invalid.ts';
import { createSignal } from 'solid-js';
import { CredentialFields } from './credential-fields.tsx';
import type { LoginFlow } from './login-flow.ts';
import { SignInButton } from './sign-in-button.tsx';

/** The first step of signing in. */
export function PasswordForm(props: { flow: LoginFlow; username: string; onUsername: (username: string) => void }) {
  const [password, setPassword] = createSignal('');

  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    if (await props.flow.enterPassword({ username: props.username.trim(), password: password() })) return;
    if (props.flow.problem()?.code === 'unauthenticated') setPassword('');
    if (!(await focusInvalid(form))) form.querySelector<HTMLElement>('[type=password]')?.focus();
  };

  return (
    <form class="stack" novalidate onSubmit={(event) => void submit(event)}>
      <CredentialFields
        username={props.username}
        onUsername={props.onUsername}
        password={password()}
        onPassword={setPassword}
        problem={props.flow.problem()}
      />
      <SignInButton flow={props.flow} />
    </form>
  );
}
