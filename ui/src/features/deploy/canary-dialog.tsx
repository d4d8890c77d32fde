import { createSignal } from 'solid-js';
import { CanaryPlan } from '#core/contract/deploy/canary-state.ts';
import { Dialog } from '#ui/src/components/dialog.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { FormFoot } from '#ui/src/components/form/form-foot.tsx';
import { NumberField } from '#ui/src/components/form/number-field.tsx';
import { useForm } from '#ui/src/components/use-form.ts';
import type { CanaryWanted } from './deployment.ts';

interface Values extends Record<string, unknown> {
  readonly percent: number | null;
  readonly minutes: number | null;
  readonly max_error_rate: number | null;
  readonly max_p95_ratio: number | null;
  readonly min_calls: number | null;
}
const BLANK: Values = { percent: 10, minutes: 10, max_error_rate: 0.05, max_p95_ratio: 3, min_calls: 50 };

/** Asks how a canary is to run. @param props.candidate what it serves; undefined: the working copy as it is. */
export function CanaryDialog(props: {
  open: boolean;
  candidate?: string | undefined;
  onClose: () => void;
  onStart: (wanted: CanaryWanted) => void;
}) {
  return (
    <Dialog
      open={props.open}
      title="Start a canary"
      lead={`A share of the callers is served ${props.candidate === undefined ? 'the working copy as it is now' : 'this candidate'}; the others stay on the live version.`}
      onClose={props.onClose}
    >
      <CanaryFields candidate={props.candidate} onClose={() => props.onClose()} onStart={(wanted) => props.onStart(wanted)} />
    </Dialog>
  );
}

function CanaryFields(props: { candidate?: string | undefined; onClose: () => void; onStart: (wanted: CanaryWanted) => void }) {
  const [note, setNote] = createSignal('');
  const form = useForm({
    schema: CanaryPlan,
    initial: () => BLANK,
    submit: async (values) => values,
    onDone(values) {
      const canary = values as CanaryWanted['canary'];
      const { candidate } = props;
      // Read first: closing forgets the candidate.
      props.onClose();
      props.onStart({ canary, note: note(), ...(candidate === undefined ? {} : { candidate }) });
    },
  });
  return (
    <form class="stack" novalidate onSubmit={(event) => void form.submit(event)}>
      <div class="grid-2">
        <NumberField
          label="Share of callers"
          unit="%"
          min={1}
          max={50}
          hint="From 1 to 50. The same caller always gets the same side."
          required
          {...form.number('percent')}
        />
        <NumberField
          label="Duration"
          unit="min"
          min={1}
          max={120}
          hint="Then it promotes itself. At most 120."
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
          hint="Limits count once the canary has had this many calls."
          required
          {...form.number('min_calls')}
        />
        <TextField label="Note" optional value={note()} onInput={setNote} hint="Shown with this version in the history." />
      </div>
      <FormFoot form={form} submit="Start canary" always onCancel={() => props.onClose()} />
    </form>
  );
}
