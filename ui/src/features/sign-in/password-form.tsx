import { createSignal, Show } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { Field } from '#ui/src/components/form/field.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import type { LoginFlow } from './login-flow.ts';
import { fieldError, generalError } from '#ui/src/kernel/problem.ts';
import { clock } from '#ui/src/kernel/words.ts';

/** The first step of signing in. */
export function PasswordForm(props: { flow: LoginFlow; username: string; onUsername: (username: string) => void }) {
  const [password, setPassword] = createSignal('');

  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    if (await props.flow.enterPassword({ username: props.username.trim(), password: password() })) return;
    if (props.flow.problem()?.code === 'unauthenticated') setPassword('');
    queueMicrotask(() => form.querySelector<HTMLElement>('[aria-invalid], [type=password]')?.focus());
  };

  return (
    <form class="stack" novalidate onSubmit={(event) => void submit(event)}>
      <Field
        label="Username"
        name="username"
        autocomplete="username"
        autofocus={props.username === ''}
        value={props.username}
        onInput={props.onUsername}
        error={fieldError(props.flow.problem(), 'username')}
      />
      <Field
        label="Password"
        name="password"
        type="password"
        autocomplete="current-password"
        autofocus={props.username !== ''}
        value={password()}
        onInput={setPassword}
        error={fieldError(props.flow.problem(), 'password')}
      />
      <Show when={generalError(props.flow.problem(), ['username', 'password'])}>
        {(text) => (
          <Notice tone={props.flow.problem()?.code === 'rate_limited' ? 'brass' : 'bad'} live>
            {text()}
          </Notice>
        )}
      </Show>
      <Button type="submit" kind="primary" busy={props.flow.busy()} blocked={props.flow.wait() > 0}>
        <Show when={props.flow.wait() > 0} fallback="Sign in">
          <span class="num">Try again in {clock(props.flow.wait())}</span>
        </Show>
      </Button>
    </form>
  );
}
