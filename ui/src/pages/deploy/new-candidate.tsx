import { createSignal, Show } from 'solid-js';
import type { GateName } from '#core/contract/settings/deploy-gates.ts';
import type { Output } from '#core/contract/index.ts';
import { Button } from '#ui/src/components/button.tsx';
import { Dialog } from '#ui/src/components/dialog.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { focusInvalid } from '#ui/src/components/form/focus-invalid.ts';
import { NumberField } from '#ui/src/components/form/number-field.tsx';
import { SecretOnce } from '#ui/src/components/show/secret-once.tsx';
import { Snippet } from '#ui/src/components/show/snippet.tsx';
import { CandidateTexts } from '#ui/src/features/connect/candidate-texts.tsx';
import { DeployProblem } from '#ui/src/features/deploy/gate-findings.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { fieldError, generalError } from '#ui/src/kernel/problem.ts';
import { createMutation } from '#ui/src/kernel/data/mutation.ts';

type Created = Output<'candidates.create'>;

/** Freezes the working copy as a candidate, and shows its URL, its token once and how clients connect. */
export function NewCandidate(props: { open: boolean; onClose: () => void; onCreated: () => void; onRefused: () => void }) {
  const { call } = useKernel();
  const [note, setNote] = createSignal('');
  const [hours, setHours] = createSignal<number | string | null>(24);
  const creating = createMutation((input: { hours: number; allow: GateName[]; note?: string }) =>
    call('candidates.create', input),
  );
  const [created, setCreated] = createSignal<Created>();
  const wrong = () => {
    const value = hours();
    return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 72
      ? undefined
      : 'Enter whole hours from 1 to 72.';
  };
  let form: HTMLFormElement | undefined;
  const general = () => {
    const found = creating.problem();
    return generalError(found, ['note']) === undefined ? undefined : found;
  };
  const close = () => {
    creating.reset();
    props.onClose();
  };
  const create = async (allow: GateName[] = [], reason = '') => {
    const value = hours();
    if (wrong() !== undefined || typeof value !== 'number') return;
    const written = (reason === '' ? note() : reason).trim();
    const answer = await creating.run({ hours: value, allow, ...(written === '' ? {} : { note: written }) });
    if (answer === undefined) {
      void focusInvalid(form);
      props.onRefused();
      return;
    }
    // Closed first: the second dialog then knows what the first was opened from.
    close();
    setNote('');
    setCreated(answer);
    props.onCreated();
  };
  return (
    <>
      <Dialog
        open={props.open}
        title="New candidate"
        lead="The working copy is frozen and served at a URL of its own, with its own token. Nothing changes for other callers."
        onClose={close}
      >
        <form
          ref={(element) => (form = element)}
          class="stack"
          novalidate
          onSubmit={(event) => {
            event.preventDefault();
            void create();
          }}
        >
          <Show when={general()}>
            {(shown) => (
              <DeployProblem
                problem={shown()}
                failed="Candidate not created"
                busy={creating.busy()}
                action="Create anyway"
                onAllow={(gates, reason) => void create(gates, reason)}
              />
            )}
          </Show>
          <TextField
            label="Note"
            optional
            value={note()}
            onInput={setNote}
            error={fieldError(creating.problem(), 'note')}
            hint="What you want to try. Shown in the list of candidates."
          />
          <NumberField
            label="Expires after"
            unit="hours"
            min={1}
            max={72}
            value={hours()}
            onInput={setHours}
            error={wrong()}
            hint="From 1 to 72. Then the URL and the token stop working."
          />
          <div class="row">
            <Button blocked={creating.busy()} onPress={close}>
              Cancel
            </Button>
            <Button type="submit" kind="primary" busy={creating.busy()} blocked={wrong() !== undefined}>
              Create candidate
            </Button>
          </div>
        </form>
      </Dialog>
      <SecretOnce
        of={created()}
        title="Connect to the candidate"
        secrets={({ token }) => [{ label: 'Token', value: token }]}
        onClose={() => setCreated(undefined)}
      >
        {(candidate) => (
          <>
            <div>
              <p class="field-label">URL</p>
              <Snippet text={candidate.url} label="the URL" />
            </div>
            <CandidateTexts candidate={candidate} token={candidate.token} />
          </>
        )}
      </SecretOnce>
    </>
  );
}
