import { createEffect, createSignal, on, Show } from 'solid-js';
import { HOURS_RETENTION_DAYS } from '#core/contract/observe/metric-ranges.ts';
import { Button } from '#ui/src/components/button.tsx';
import { SegmentedControl } from '#ui/src/components/form/choice.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { isPeriod, minutesOf, type Period, PERIODS, type Range } from '#ui/src/kernel/metrics.ts';

type Choice = Period | 'custom';

/** A period that ends now, or a time from one moment to another in the reader's zone. */
export function RangePicker(props: { range: Range; onChange: (range: Range) => void }) {
  const [editing, setEditing] = createSignal(false);
  const [from, setFrom] = createSignal('');
  const [until, setUntil] = createSignal('');
  const [fault, setFault] = createSignal<string>();
  const fill = (range: Range) => {
    const now = Date.now();
    const [first, last] = isPeriod(range)
      ? [now - minutesOf(range) * 60_000, now]
      : [Date.parse(range.since), Date.parse(range.until)];
    setFrom(localText(first));
    setUntil(localText(last));
    setFault(undefined);
  };
  createEffect(
    on(
      () => props.range,
      (range) => {
        if (!isPeriod(range)) setEditing(true);
        fill(range);
      },
    ),
  );
  const choose = (value: Choice) => {
    setEditing(value === 'custom');
    if (value !== 'custom') props.onChange(value);
    else fill(props.range);
  };
  const apply = (event: SubmitEvent) => {
    event.preventDefault();
    const [first, last] = [Date.parse(from()), Date.parse(until())];
    const wrong = faultOf(first, last, Date.now());
    setFault(wrong);
    if (wrong === undefined) props.onChange({ since: new Date(first).toISOString(), until: new Date(last).toISOString() });
  };
  return (
    <div class="stack" data-gap="3">
      <SegmentedControl<Choice>
        label="Period"
        value={editing() || !isPeriod(props.range) ? 'custom' : props.range}
        onChange={choose}
        options={[...PERIODS.map((value) => ({ value, label: value })), { value: 'custom', label: 'Custom' }]}
      />
      <Show when={editing()}>
        <form class="range-fields" onSubmit={apply}>
          <TextField label="From" type="datetime-local" value={from()} onInput={setFrom} error={fault()} />
          <TextField label="To" type="datetime-local" value={until()} onInput={setUntil} />
          <Button type="submit">Show</Button>
          <p class="faint small">{`Times in ${ZONE}.`}</p>
        </form>
      </Show>
    </div>
  );
}

const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** As the browser's field wants it: `2026-03-01T12:30`, in the reader's zone. */
function localText(ms: number): string {
  const date = new Date(ms);
  const two = (value: number) => String(value).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day}T${two(date.getHours())}:${two(date.getMinutes())}`;
}

function faultOf(from: number, until: number, now: number): string | undefined {
  if (Number.isNaN(from) || Number.isNaN(until)) return 'Enter both times.';
  if (from >= until) return 'Must be earlier than the end.';
  if (from < now - HOURS_RETENTION_DAYS * 86_400_000) return `Metrics are kept for ${HOURS_RETENTION_DAYS} days.`;
  return undefined;
}
