import { createSignal, onCleanup, Show } from 'solid-js';
import * as v from 'valibot';
import { CanaryPlan } from '#core/contract/observe/canary-state.ts';
import { VersionNote } from '#core/contract/fields.ts';
import { Dialog } from '#ui/src/components/dialog.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { FormFoot } from '#ui/src/components/form/form-foot.tsx';
import { NumberField } from '#ui/src/components/form/number-field.tsx';
import { useForm } from '#ui/src/components/use-form.ts';
import { fieldError } from '#ui/src/kernel/problem.ts';
import { ChangeList } from './change-list.tsx';
import type { Deployment } from './deployment.ts';
import { LastProblem } from './gate-findings.tsx';

const Fields = v.strictObject({ ...CanaryPlan.entries, note: VersionNote });
interface Values extends Record<string, unknown> {
  readonly percent: number | null;
  readonly minutes: number | null;
  readonly max_error_rate: number | null;
  readonly max_p95_ratio: number | null;
  readonly min_calls: number | null;
  readonly note: string | null;
}
const BLANK: Values = { percent: 10, minutes: 10, max_error_rate: 0.05, max_p95_ratio: 3, min_calls: 50, note: null };

interface Starts {
  deployment: Deployment;
  /** What it serves; undefined: the working copy as it is. */
  candidate?: string | undefined;
  onClose: () => void;
  onStarted: () => void;
}

/** Asks how a canary is to run, and stays until it runs: what was typed is not lost by a refusal. */
export function CanaryDialog(props: Starts & { open: boolean }) {
  return (
    <Dialog
      open={props.open}
      title="Start a canary"
      lead={`A share of the callers is served ${props.candidate === undefined ? 'the working copy as it is now' : 'this candidate'}; the others stay on the live version.`}
      onClose={props.onClose}
    >
      <CanaryFields {...props} />
    </Dialog>
  );
}

function CanaryFields(props: Starts) {
  /** What failed before this dialog was opened is none of its faults. */
  const [tried, setTried] = createSignal(false);
  const problem = () => (tried() ? props.deployment.problem() : undefined);
  const form = useForm({
    schema: Fields,
    initial: () => BLANK,
    submit({ note, ...plan }) {
      setTried(true);
      const { candidate } = props;
      const start = { canary: v.parse(CanaryPlan, plan), note: note ?? '', ...(candidate === undefined ? {} : { candidate }) };
      return props.deployment.startCanary(start);
    },
    onDone: (started) => started && props.onStarted(),
  });
  onCleanup(() => {
    if (problem() !== undefined) props.deployment.dismiss();
  });
  const note = form.text('note');
  /** What a person has not read yet, behind the dialog. */
  const moved = () => {
    const isOther = problem()?.code === 'conflict' && props.deployment.status.data()?.canary?.status !== 'running';
    return isOther && props.candidate === undefined ? (props.deployment.diff.data()?.changes ?? []) : [];
  };
  return (
    <form class="stack" novalidate onSubmit={(event) => void form.submit(event)}>
      <div class="grid-2">
        <NumberField
          label="Share of callers"
          unit="%"
          min={1}
          max={50}
          hint="From 1 to 50. Each caller stays on the same version."
          required
          {...form.number('percent')}
        />
        <NumberField
          label="Duration"
          unit="min"
          min={1}
          max={120}
          hint="Sluice then promotes the canary. At most 120."
          required
          {...form.number('minutes')}
        />
        <NumberField
          label="Max error rate"
          min={0}
          max={1}
          step={0.01}
          hint="Share of failed calls, such as 0.05. Leave empty for no limit."
          {...form.number('max_error_rate')}
        />
        <NumberField
          label="Max p95 ratio"
          unit="×"
          min={1}
          max={1_000}
          hint="Times the p95 of the live version. Leave empty for no limit."
          {...form.number('max_p95_ratio')}
        />
        <NumberField
          label="Min calls"
          min={1}
          hint="The limits apply once the canary has had this many calls."
          required
          {...form.number('min_calls')}
        />
        <TextField
          label="Note"
          optional
          {...note}
          error={note.error ?? fieldError(problem(), 'note')}
          hint="Shown with this version in the history."
        />
      </div>
      <Show when={moved().length > 0}>
        <div class="change-box">
          <ChangeList changes={moved()} label="What the canary would change" />
        </div>
      </Show>
      <Show when={tried()}>
        <LastProblem deployment={props.deployment} beside={['note']} onRepeated={() => props.onStarted()} />
      </Show>
      <FormFoot form={form} submit="Start canary" always onCancel={() => props.onClose()} />
    </form>
  );
}
