import { createSignal, For, Show } from 'solid-js';
import type { TokenCheckResult } from '#core/contract/settings/token-check.ts';
import type { Output } from '#core/contract/index.ts';
import { StatusDot, type Tone } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { TextArea } from '#ui/src/components/form/field.tsx';
import { Failed } from '#ui/src/components/notice.tsx';
import { KeyValue } from '#ui/src/components/show/key-value.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { createMutation } from '#ui/src/kernel/data/mutation.ts';

const TONES: Readonly<Record<TokenCheckResult['status'], Tone>> = { passed: 'good', failed: 'bad', skipped: 'plain' };
const STATES: Readonly<Record<TokenCheckResult['status'], string>> = { passed: 'Passed', failed: 'Failed', skipped: 'Skipped' };
const LABELS: Readonly<Record<TokenCheckResult['check'], string>> = {
  form: 'Form',
  algorithm: 'Algorithm',
  type: 'Type',
  issuer: 'Issuer',
  key: 'Key',
  signature: 'Signature',
  audience: 'Audience',
  expiry: 'Expiry',
  times: 'Times',
  kind: 'Kind of token',
  claims: 'Claims',
};
const orNone = (texts: readonly string[]): string => (texts.length === 0 ? 'None' : texts.join(', '));

/** Shows what a host would say of a token, one check after the other. The token stays in this field alone. */
export function TokenCheck(props: { unsaved: boolean }) {
  const { call } = useKernel();
  const [token, setToken] = createSignal('');
  const [answer, setAnswer] = createSignal<Output<'config.check_token'>>();
  const checking = createMutation((asked: string) => call('config.check_token', { token: asked }));
  const run = async () => {
    if (checking.busy()) return;
    const asked = token().trim();
    const said = await checking.run(asked);
    // Another token was pasted meanwhile.
    if (token().trim() === asked) setAnswer(said);
  };
  return (
    <div class="stack">
      <TextArea
        label="Access token"
        hint="Used for this check only. It is neither stored nor logged."
        mono
        rows={3}
        value={token()}
        onInput={(text) => {
          setToken(text);
          setAnswer(undefined);
        }}
      />
      <Show when={props.unsaved}>
        <p class="small soft">The check uses the saved issuers. Save your changes first.</p>
      </Show>
      <div class="row">
        <Button size="small" icon="check" busy={checking.busy()} blocked={token().trim() === ''} onPress={() => void run()}>
          Check token
        </Button>
      </div>
      <Failed of={{ problem: checking.problem, reload: run }} />
      <Show when={answer()}>
        {(said) => (
          <div class="stack" role="status">
            <p>
              <strong>{said().accepted ? 'The token is accepted.' : 'The token is rejected.'}</strong>
            </p>
            <ul class="token-checks">
              <For each={said().checks}>
                {({ check, status, message }) => (
                  <li>
                    <StatusDot tone={TONES[status]} label={STATES[status]} />
                    <span class="small">{LABELS[check]}</span>
                    <span class="small soft">{message}</span>
                  </li>
                )}
              </For>
            </ul>
            <Show when={said().caller}>
              {(caller) => (
                <KeyValue
                  items={[
                    { label: 'Subject', value: caller().sub ?? 'None', mono: true },
                    { label: 'Name', value: caller().name ?? 'None' },
                    { label: 'Email', value: caller().email ?? 'None' },
                    { label: 'Client', value: caller().client_id ?? 'None', mono: true },
                    { label: 'Groups', value: orNone(caller().groups) },
                    { label: 'Scopes', value: orNone(caller().scopes) },
                  ]}
                />
              )}
            </Show>
          </div>
        )}
      </Show>
    </div>
  );
}
