import { Show } from 'solid-js';
import { TextField } from '#ui/src/components/form/field.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { fieldError, generalError, type Problem } from '#ui/src/kernel/problem.ts';

/** Username and password, and what is wrong with them. `fresh`: a new password is chosen. */
export function CredentialFields(props: {
  username: string;
  onUsername: (username: string) => void;
  password: string;
  onPassword: (password: string) => void;
  problem: Problem | undefined;
  fresh?: boolean;
  username_hint?: string;
  /** Fields of the form that show their errors themselves. */
  others?: readonly string[];
}) {
  return (
    <>
      <TextField
        label="Username"
        name="username"
        autocomplete="username"
        autofocus={props.username === ''}
        hint={props.username_hint}
        value={props.username}
        onInput={(username) => props.onUsername(username)}
        error={fieldError(props.problem, 'username')}
      />
      <TextField
        label="Password"
        name="password"
        type="password"
        autocomplete={props.fresh === true ? 'new-password' : 'current-password'}
        autofocus={props.username !== ''}
        hint={props.fresh === true ? 'At least 8 characters.' : undefined}
        value={props.password}
        onInput={(password) => props.onPassword(password)}
        error={fieldError(props.problem, 'password')}
      />
      <FormProblem problem={props.problem} fields={['username', 'password', ...(props.others ?? [])]} />
    </>
  );
}

/** What is wrong beyond the given fields. */
export function FormProblem(props: { problem: Problem | undefined; fields: readonly string[] }) {
  return (
    <Show when={generalError(props.problem, props.fields)}>
      {(text) => (
        <Notice tone={props.problem?.code === 'rate_limited' ? 'warning' : 'bad'} live>
          {text()}
        </Notice>
      )}
    </Show>
  );
}
