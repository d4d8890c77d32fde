import { createEffect, createSignal, on, Show } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { createAccessTest } from './access-test.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { duration, plural } from '#ui/src/kernel/words.ts';

const SHOWN = 12;

/** Calls the real endpoint as a client would. */
export function TestPanel(props: { wants_token: boolean; token: string }) {
  const { call, send } = useKernel();
  const [token, setToken] = createSignal('');
  const test = createAccessTest({ send, onSessionEnd: () => void call('deploy.status', {}).catch(() => undefined) });
  /** The token of the last test. */
  const [sent, setSent] = createSignal('');
  /** What was found is true of that one. */
  const isTested = () => token().trim() === sent();
  const run = () => {
    setSent(token().trim());
    void test.run(sent());
  };
  createEffect(
    on(
      () => props.token,
      (created) => void (created !== '' && setToken(created)),
    ),
  );

  return (
    <div class="stack">
      <Show when={props.wants_token}>
        <TextField
          label="Access token for the test"
          hint="Used for this test only and not stored."
          type="password"
          autocomplete="off"
          mono
          value={token()}
          onInput={setToken}
        />
      </Show>
      <div class="row">
        <Button icon="bolt" busy={test.busy()} onPress={run}>
          Test the connection
        </Button>
        <LinkButton href="/playground" kind="quiet" icon="play">
          Playground
        </LinkButton>
      </div>
      <Show when={isTested() && test.reached()}>
        {(reached) => (
          <Notice
            tone="good"
            live
            title={`The server answers with ${plural(reached().tools.length, 'tool')} in ${duration(reached().ms)}`}
          >
            <p class="small mono">{reached().tools.slice(0, SHOWN).join(', ')}</p>
            <Show when={reached().host}>{(host) => <p class="small">{`Host ${host()}`}</p>}</Show>
          </Notice>
        )}
      </Show>
      <Show when={isTested() && test.refusal()}>
        {(refusal) => (
          <Notice tone="bad" live title="Connection test failed">
            <p>
              {refusal().reason === 'unauthorized'
                ? sent() === ''
                  ? 'The server requires a token. Paste one above and test again.'
                  : 'The server rejects this token. It may be mistyped, expired or revoked.'
                : refusal().detail}
            </p>
          </Notice>
        )}
      </Show>
    </div>
  );
}
