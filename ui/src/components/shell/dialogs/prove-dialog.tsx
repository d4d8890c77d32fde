import { createSignal, For, Match, Show, Switch } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { Dialog } from '#ui/src/components/dialog.tsx';
import { Checkbox } from '#ui/src/components/form/choice.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { Failed, Fault } from '#ui/src/components/notice.tsx';
import { Bullets } from '#ui/src/components/show/bullets.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { createMutation } from '#ui/src/kernel/data/mutation.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { fieldError, generalError } from '#ui/src/kernel/problem.ts';

/** Asks a person to prove who they are before a dangerous change. @param dangers what it does, one sentence each. */
export function ProveDialog(props: { dangers: readonly string[]; onAnswer: (proved: boolean) => void }) {
  const { call } = useKernel();
  const account = useQuery((read) => read('auth.me', {}), { live: false });
  const providers = useQuery(async (read) => (await read('auth.status', {})).providers, { live: false });
  const [password, setPassword] = createSignal('');
  const [code, setCode] = createSignal('');
  const [recovery, setRecovery] = createSignal(false);
  const [chosen, setChosen] = createSignal<'password' | 'code'>();
  const way = () => chosen() ?? (account.data()?.has_password ? 'password' : account.data()?.totp_enabled ? 'code' : 'sign_in');
  const prove = createMutation(() =>
    call('auth.prove', way() === 'code' ? { code: code().trim(), is_recovery: recovery() } : { password: password() }),
  );
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    // After a sign-in in another tab, the repeated request is proof enough.
    if (way() === 'sign_in') return props.onAnswer(true);
    if ((await prove.run(undefined)) !== undefined) props.onAnswer(true);
  };
  const ready = () => (way() === 'password' ? password() !== '' : way() === 'sign_in' || code().trim() !== '');
  return (
    <Dialog
      open
      alert
      size="small"
      title="Confirm that it is you"
      lead="You signed in more than ten minutes ago, and this change lowers the protection of this server."
      onClose={() => props.onAnswer(false)}
    >
      <form class="stack" novalidate onSubmit={(event) => void submit(event)}>
        <Bullets small of={props.dangers} />
        <Failed of={account} />
        <Fault text={generalError(prove.problem(), ['password', 'code'])} />
        <Switch>
          <Match when={way() === 'password'}>
            <TextField
              label="Password"
              type="password"
              autofocus
              autocomplete="current-password"
              value={password()}
              onInput={setPassword}
              error={fieldError(prove.problem(), 'password')}
            />
          </Match>
          <Match when={way() === 'code'}>
            <TextField
              label="Code"
              mono
              autofocus
              autocomplete="one-time-code"
              value={code()}
              onInput={setCode}
              error={fieldError(prove.problem(), 'code')}
            />
            <Checkbox label="Use a recovery code" checked={recovery()} onChange={setRecovery} />
          </Match>
          <Match when={account.data()}>
            <p class="small">
              Your account has no password and no second factor. Sign in again in another tab, then continue here.
            </p>
            <For each={providers.data()}>
              {({ id, name }) => (
                <a target="_blank" rel="noopener" href={`/api/v1/auth/oidc/${id}/start?return_to=/account&fresh=true`}>
                  {`Sign in with ${name}`}
                </a>
              )}
            </For>
          </Match>
        </Switch>
        <Show when={account.data()?.has_password && account.data()?.totp_enabled}>
          <div class="row">
            <Button kind="quiet" size="small" onPress={() => setChosen(way() === 'code' ? 'password' : 'code')}>
              {way() === 'code' ? 'Use the password' : 'Use a code'}
            </Button>
          </div>
        </Show>
        <div class="row">
          <Button onPress={() => props.onAnswer(false)}>Cancel</Button>
          <Button type="submit" kind="primary" busy={prove.busy()} blocked={!ready()}>
            Continue
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
