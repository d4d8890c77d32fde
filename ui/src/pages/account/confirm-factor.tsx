import { createEffect, createSignal, on, Show } from 'solid-js';
import type { Output } from '#core/contract/index.ts';
import { Button } from '#ui/src/components/button.tsx';
import { Checkbox } from '#ui/src/components/form/choice.tsx';
import { Dialog } from '#ui/src/components/dialog.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { Fault } from '#ui/src/components/notice.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { createMutation } from '#ui/src/kernel/data/mutation.ts';
import { fieldError, generalError } from '#ui/src/kernel/problem.ts';

const KINDS = {
  setup: { title: 'Set up the second factor', text: 'Enter your password to continue.', action: 'Continue' },
  disable: { title: 'Turn the second factor off?', text: 'You will sign in with your password alone.', action: 'Turn off' },
  regenerate: {
    title: 'Create new recovery codes?',
    text: 'The old codes stop working, and every other session ends.',
    action: 'Create new codes',
  },
} as const;
export type FactorChange = keyof typeof KINDS;

/** What a change gives back: new recovery codes, with the secret when the factor is being set up. */
interface FactorResult {
  readonly setup?: Output<'two_factor.setup'>;
  readonly codes?: readonly string[];
}

/** Asks for the password, and the code when there is one yet, before the second factor is changed. */
export function ConfirmFactor(props: {
  kind: FactorChange | undefined;
  onClose: () => void;
  onDone: (result: FactorResult) => void;
}) {
  const { call } = useKernel();
  const [password, setPassword] = createSignal('');
  const [code, setCode] = createSignal('');
  const [recovery, setRecovery] = createSignal(false);
  const change = createMutation(async (kind: FactorChange): Promise<FactorResult> => {
    if (kind === 'setup') return { setup: await call('two_factor.setup', { password: password() }) };
    const proof = { password: password(), code: code().trim() };
    if (kind === 'regenerate') return { codes: (await call('two_factor.regenerate_recovery', proof)).recovery_codes };
    await call('two_factor.disable', { ...proof, is_recovery: recovery() });
    return {};
  });
  createEffect(
    on(
      () => props.kind,
      () => {
        setPassword('');
        setCode('');
        setRecovery(false);
        change.reset();
      },
    ),
  );
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (props.kind === undefined) return;
    const answer = await change.run(props.kind);
    if (answer !== undefined) props.onDone(answer);
  };

  return (
    <Dialog
      open={props.kind !== undefined}
      title={KINDS[props.kind ?? 'disable'].title}
      lead={KINDS[props.kind ?? 'disable'].text}
      onClose={props.onClose}
    >
      <form class="stack" novalidate onSubmit={(event) => void submit(event)}>
        <Fault text={generalError(change.problem(), ['password', 'code'])} />
        <TextField
          label="Password"
          type="password"
          autofocus
          autocomplete="current-password"
          value={password()}
          onInput={setPassword}
          error={fieldError(change.problem(), 'password')}
        />
        <Show when={props.kind !== 'setup'}>
          <TextField
            label="Code"
            mono
            autocomplete="one-time-code"
            value={code()}
            onInput={setCode}
            error={fieldError(change.problem(), 'code')}
          />
        </Show>
        <Show when={props.kind === 'disable'}>
          <Checkbox label="Use a recovery code" checked={recovery()} onChange={setRecovery} />
        </Show>
        <div class="row">
          <Button onPress={props.onClose}>Cancel</Button>
          <Button
            type="submit"
            kind={props.kind === 'disable' ? 'danger' : 'primary'}
            busy={change.busy()}
            blocked={password() === '' || (props.kind !== 'setup' && code().trim() === '')}
          >
            {KINDS[props.kind ?? 'disable'].action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
