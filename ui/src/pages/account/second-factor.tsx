import { createSignal, Show } from 'solid-js';
import type { Output } from '#core/contract/index.ts';
import { StatusDot } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { CopyButton } from '#ui/src/components/show/code-block.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { Failed, Fault, Notice } from '#ui/src/components/notice.tsx';
import { Section } from '#ui/src/components/panel.tsx';
import { Skeleton } from '#ui/src/components/skeleton.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { DialogOf } from '#ui/src/components/dialog-of.tsx';
import { inFours, svgAddress } from './account-device.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { createMutation } from '#ui/src/kernel/data/mutation.ts';
import { fieldError, generalError } from '#ui/src/kernel/problem.ts';
import { plural } from '#ui/src/kernel/words.ts';
import { ConfirmFactor, type FactorChange } from './confirm-factor.tsx';
import { CodesDialog } from './recovery-codes.tsx';

const FEW = 3;

/** The second factor: on, off, and the recovery codes. */
export function SecondFactor() {
  const { toasts } = useKernel();
  const status = useQuery((read) => read('two_factor.status', {}));
  const [setup, setSetup] = createSignal<Output<'two_factor.setup'>>();
  const [codes, setCodes] = createSignal<readonly string[]>();
  const [asking, setAsking] = createSignal<FactorChange>();

  return (
    <Section title="Second factor" lead="Signing in also asks for a code from an authenticator app.">
      <Failed of={status} />
      <Show when={status.data()} fallback={status.problem() === undefined && <Skeleton width="half" />}>
        {(now) => (
          <>
            <p class="row">
              <StatusDot tone={now().totp_enabled ? 'good' : 'plain'} label={now().totp_enabled ? 'Enabled' : 'Disabled'} />
              <Show when={now().totp_enabled}>
                <span class="small faint">{`${plural(now().recovery_codes_remaining, 'recovery code')} left`}</span>
              </Show>
            </p>
            <Show when={now().totp_enabled && now().recovery_codes_remaining < FEW}>
              <Notice tone="warning">Create new recovery codes before you run out.</Notice>
            </Show>
            <div class="row">
              <Show
                when={now().totp_enabled}
                fallback={
                  <Button icon="shield" onPress={() => setAsking('setup')}>
                    Set up…
                  </Button>
                }
              >
                <Button icon="refresh" onPress={() => setAsking('regenerate')}>
                  New recovery codes…
                </Button>
                <Button onPress={() => setAsking('disable')}>Turn off…</Button>
              </Show>
            </div>
          </>
        )}
      </Show>
      <DialogOf of={setup()} title="Set up the second factor" onClose={() => setSetup(undefined)}>
        {(started) => (
          <Enable
            setup={started}
            onCancel={() => setSetup(undefined)}
            onDone={() => {
              setCodes(started.recovery_codes);
              setSetup(undefined);
              toasts.show('The second factor is on.', 'good');
              void status.reload();
            }}
          />
        )}
      </DialogOf>
      <ConfirmFactor
        kind={asking()}
        onClose={() => setAsking(undefined)}
        onDone={(started) => {
          const change = asking();
          setAsking(undefined);
          setSetup(started.setup);
          setCodes(started.codes);
          if (change === 'disable') toasts.show('The second factor is off. Every other session has ended.', 'good');
          void status.reload();
        }}
      />
      <CodesDialog codes={codes()} onClose={() => setCodes(undefined)} />
    </Section>
  );
}

/** The QR code, then the code that shows that it was scanned. */
function Enable(props: { setup: Output<'two_factor.setup'>; onCancel: () => void; onDone: () => void }) {
  const { call } = useKernel();
  const [code, setCode] = createSignal('');
  const verify = createMutation((digits: string) => call('two_factor.verify_setup', { code: digits }));
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if ((await verify.run(code().replaceAll(' ', ''))) !== undefined) props.onDone();
  };
  return (
    <form class="stack" novalidate onSubmit={(event) => void submit(event)}>
      <div class="account-scan">
        <img
          class="account-qr"
          src={svgAddress(props.setup.qr_svg)}
          alt="QR code for the authenticator app"
          width="184"
          height="184"
        />
        <div class="stack">
          <div>
            <p class="field-label">Scan with an authenticator app</p>
            <p class="small soft">Such as 1Password, Aegis or Google Authenticator.</p>
          </div>
          <div>
            <p class="field-label">Or enter this secret by hand</p>
            <p class="account-secret mono small">
              {inFours(props.setup.secret)}
              <CopyButton text={props.setup.secret} label="the secret" />
            </p>
          </div>
        </div>
      </div>
      <Fault text={generalError(verify.problem(), ['code'])} />
      <TextField
        label="Code"
        hint="The six digits that the app shows."
        autofocus
        mono
        inputmode="numeric"
        autocomplete="one-time-code"
        value={code()}
        onInput={setCode}
        error={fieldError(verify.problem(), 'code')}
      />
      <div class="row">
        <Button onPress={props.onCancel}>Cancel</Button>
        <Button type="submit" kind="primary" busy={verify.busy()} blocked={code().trim() === ''}>
          Turn on
        </Button>
      </div>
    </form>
  );
}
