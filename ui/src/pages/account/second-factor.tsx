import { createSignal, Show } from 'solid-js';
import type { Output } from '#core/contract/index.ts';
import { StatusDot } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { CopyButton } from '#ui/src/components/show/code-block.tsx';
import { Dialog } from '#ui/src/components/dialog.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { Notice, ProblemNotice } from '#ui/src/components/notice.tsx';
import { Section } from '#ui/src/components/panel.tsx';
import { Skeleton } from '#ui/src/components/skeleton.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { inFours, sentenceFor, svgAddress } from './account-device.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { createMutation } from '#ui/src/kernel/data/mutation.ts';
import { generalError } from '#ui/src/kernel/problem.ts';
import { ConfirmFactor, type FactorChange } from './confirm-factor.tsx';
import { CodesDialog } from './recovery-codes.tsx';
import { WORDS } from './words.ts';

const FEW = 3;

/** The second factor: on, off, and the recovery codes. */
export function SecondFactor() {
  const { toasts } = useKernel();
  const status = useQuery((read) => read('two_factor.status', {}));
  const [setup, setSetup] = createSignal<Output<'two_factor.setup'>>();
  const [codes, setCodes] = createSignal<readonly string[]>();
  const [asking, setAsking] = createSignal<FactorChange>();

  return (
    <Section title={WORDS.factor} lead={WORDS.factor_lead}>
      <Show when={status.problem()}>
        {(problem) => <ProblemNotice problem={problem()} onRetry={() => void status.reload()} />}
      </Show>
      <Show when={status.data()} fallback={status.problem() === undefined && <Skeleton width="half" />}>
        {(now) => (
          <>
            <p class="row">
              <StatusDot tone={now().totp_enabled ? 'good' : 'plain'} label={now().totp_enabled ? WORDS.on : WORDS.off} />
              <Show when={now().totp_enabled}>
                <span class="small faint">{WORDS.codes_left(now().recovery_codes_remaining)}</span>
              </Show>
            </p>
            <Show when={now().totp_enabled && now().recovery_codes_remaining < FEW}>
              <Notice tone="brass">{WORDS.few_codes}</Notice>
            </Show>
            <div class="row">
              <Show
                when={now().totp_enabled}
                fallback={
                  <Button icon="shield" onPress={() => setAsking('setup')}>
                    {WORDS.set_up}
                  </Button>
                }
              >
                <Button icon="refresh" onPress={() => setAsking('regenerate')}>
                  {WORDS.regenerate}
                </Button>
                <Button onPress={() => setAsking('disable')}>{WORDS.turn_off}</Button>
              </Show>
            </div>
          </>
        )}
      </Show>
      <Dialog open={setup() !== undefined} title={WORDS.setup_title} onClose={() => setSetup(undefined)}>
        <Show when={setup()}>
          {(made) => (
            <Enable
              setup={made()}
              onDone={() => {
                setCodes(made().recovery_codes);
                setSetup(undefined);
                toasts.show(WORDS.turned_on, 'good');
                void status.reload();
              }}
            />
          )}
        </Show>
      </Dialog>
      <ConfirmFactor
        kind={asking()}
        onClose={() => setAsking(undefined)}
        onDone={(made) => {
          const change = asking();
          setAsking(undefined);
          setSetup(made.setup);
          setCodes(made.codes);
          if (change === 'disable') toasts.show(WORDS.turned_off, 'good');
          void status.reload();
        }}
      />
      <CodesDialog codes={codes()} onClose={() => setCodes(undefined)} />
    </Section>
  );
}

/** The QR code, then the code that shows that it was scanned. */
function Enable(props: { setup: Output<'two_factor.setup'>; onDone: () => void }) {
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
        <img class="account-qr" src={svgAddress(props.setup.qr_svg)} alt={WORDS.qr} width="184" height="184" />
        <div class="stack">
          <div>
            <p class="field-label">{WORDS.scan}</p>
            <p class="small soft">{WORDS.scan_text}</p>
          </div>
          <div>
            <p class="field-label">{WORDS.by_hand}</p>
            <p class="account-secret mono small">
              {inFours(props.setup.secret)}
              <CopyButton text={props.setup.secret} label={WORDS.secret} />
            </p>
          </div>
        </div>
      </div>
      <Show when={generalError(verify.problem(), ['code'])}>
        {(detail) => (
          <Notice tone="bad" live>
            {detail()}
          </Notice>
        )}
      </Show>
      <TextField
        label={WORDS.code}
        hint={WORDS.code_hint}
        autofocus
        mono
        inputmode="numeric"
        autocomplete="one-time-code"
        value={code()}
        onInput={setCode}
        error={sentenceFor(verify.problem(), 'code')}
      />
      <div class="row">
        <Button type="submit" kind="primary" busy={verify.busy()} blocked={code().trim() === ''}>
          {WORDS.confirm}
        </Button>
      </div>
    </form>
  );
}
