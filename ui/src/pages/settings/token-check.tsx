import { createSignal, For, Show } from 'solid-js';
import { CHECK_CHOICES } from '#core/contract/fields.ts';
import { TOKEN_CHECKS, type TokenCheckResult } from '#core/contract/settings/token-check.ts';
import type { Output } from '#core/contract/index.ts';
import { StatusDot, type Tone } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { TextArea } from '#ui/src/components/form/field.tsx';
import { Failed } from '#ui/src/components/notice.tsx';
import { KeyValue } from '#ui/src/components/show/key-value.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { createMutation } from '#ui/src/kernel/data/mutation.ts';

const TONES: Readonly<Record<TokenCheckResult['status'], Tone>> = { passed: 'good', failed: 'bad', skipped: 'plain' };
const orNone = (texts: readonly string[]): string => (texts.length === 0 ? 'None' : texts.join(', '));

/** Shows how a host would validate a token, check by check. The token is stored nowhere else. */
export function TokenCheck(props: { unsaved: boolean }) {
  const { call } = useKernel();
  const [token, setToken] = createSignal('');
  const [answer, setAnswer] = createSignal<Output<'config.check_token'>>();
  const checking = createMutation((pasted: string) => call('config.check_token', { token: pasted }));
  const run = async () => {
    if (checking.busy()) return;
    const pasted = token().trim();
    const result = await checking.run(pasted);
    // Ignores the answer when the token has changed since.
    if (token().trim() === pasted) setAnswer(result);
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
        {(result) => (
          <div class="stack" role="status">
            <p>
              <strong>{result().accepted ? 'The token is accepted.' : 'The token is rejected.'}</strong>
            </p>
            <ul class="token-checks">
              <For each={result().checks}>
                {({ check, status, message }) => (
                  <li>
                    <StatusDot tone={TONES[status]} label={CHECK_CHOICES[status].label} />
                    <span class="small">{TOKEN_CHECKS[check].label}</span>
                    <span class="small soft">{message}</span>
                  </li>
                )}
              </For>
            </ul>
            <Show when={result().caller}>
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
