import { createSignal, Show } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { FormProblem } from './credential-fields.tsx';
import type { LoginFlow } from './login-flow.ts';
import { SignInButton } from './sign-in-button.tsx';
import { fieldError } from '#ui/src/kernel/problem.ts';
import { LOGIN_WORDS } from '#ui/src/kernel/words.ts';

/** The step after a right password: a code of the authenticator, or a recovery code. */
export function SecondFactor(props: { flow: LoginFlow }) {
  const [code, setCode] = createSignal('');
  const recovery = () => props.flow.step() === 'recovery';

  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    if (props.flow.over() !== undefined) return props.flow.restart();
    if (await props.flow.enterCode(code())) return;
    // A refused code of the authenticator is never right later; a recovery code is long and mistyped.
    if (props.flow.problem()?.code === 'unauthenticated' && !recovery()) setCode('');
    queueMicrotask(() => form.querySelector<HTMLElement>('input')?.focus());
  };
  const change = () => {
    setCode('');
    props.flow.choose(recovery() ? 'code' : 'recovery');
  };
  const error = () => fieldError(props.flow.problem(), 'code');

  return (
    <form class="stack" novalidate onSubmit={(event) => void submit(event)}>
      <Show
        when={recovery()}
        fallback={
          <TextField
            label="Code"
            name="code"
            autocomplete="one-time-code"
            inputmode="numeric"
            autofocus
            value={code()}
            onInput={setCode}
            error={error()}
          />
        }
      >
        <TextField
          label="Recovery code"
          name="recovery_code"
          autocomplete="off"
          autofocus
          value={code()}
          onInput={setCode}
          error={error()}
        />
      </Show>
      <Show
        when={props.flow.over()}
        fallback={
          <>
            <FormProblem problem={props.flow.problem()} fields={['code']} />
            <SignInButton flow={props.flow} />
            <p class="field-hint num">{LOGIN_WORDS.expires_in(props.flow.left())}</p>
            <div class="entry-ways">
              <button type="button" class="link-button" onClick={change}>
                {recovery() ? LOGIN_WORDS.to_code : LOGIN_WORDS.to_recovery}
              </button>
              <button type="button" class="link-button" onClick={() => props.flow.restart()}>
                {LOGIN_WORDS.back}
              </button>
            </div>
          </>
        }
      >
        {(reason) => (
          <>
            <Notice tone="warning" live>
              {reason()}
            </Notice>
            <Button type="submit" kind="primary">
              {LOGIN_WORDS.back}
            </Button>
          </>
        )}
      </Show>
    </form>
  );
}
