import { createSignal, Show } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { Field } from '#ui/src/components/form/field.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import type { LoginFlow } from './login-flow.ts';
import { fieldError, generalError } from '#ui/src/kernel/problem.ts';
import { clock, LOGIN_WORDS } from '#ui/src/kernel/words.ts';

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
          <Field
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
        <Field
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
            <Show when={generalError(props.flow.problem(), ['code'])}>
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
            <Notice tone="brass" live>
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
