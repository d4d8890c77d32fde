import { createMemo, For } from 'solid-js';
import type { Connection } from '#core/contract/definitions/connections.ts';
import { type Annotations, type ToolDraft, toolLimits } from '#core/contract/definitions/tools.ts';
import type { ErrorOf } from '#ui/src/features/builder/statement-builder.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { FormField } from '#ui/src/fields/form-field.tsx';
import type { Form } from '#ui/src/kernel/form/form.ts';

const HINTS = { default: undefined, yes: true, no: false } as const;
type Hint = keyof typeof HINTS;
const HINT_OPTIONS = [
  { value: 'default', label: 'Not set' },
  { value: 'yes', label: 'Yes' },
  { value: 'no', label: 'No' },
] as const;
type Limit = keyof typeof toolLimits;
const LIMITS = Object.keys(toolLimits) as readonly Limit[];

/** What most tools leave as it is. */
export function LimitsPanel(props: { form: Form<ToolDraft>; connection: Connection | undefined; error: ErrorOf<ToolDraft> }) {
  const hint = (name: keyof Annotations): Hint => {
    const value = props.form.values.annotations[name];
    return value === undefined ? 'default' : value ? 'yes' : 'no';
  };
  const setHint = (name: keyof Annotations, value: Hint) => {
    const { [name]: _before, ...rest } = props.form.values.annotations;
    const chosen = HINTS[value];
    props.form.set('annotations', chosen === undefined ? rest : { ...rest, [name]: chosen });
  };
  /** What holds while the tool has no limit of its own. */
  const inherited = (name: Limit): string | undefined => {
    const limits: Partial<Record<Limit, number | undefined>> = {
      timeout_ms: props.connection?.query_timeout_ms,
      max_rows: props.connection?.max_rows,
      max_bytes: props.connection?.max_bytes,
    };
    return limits[name]?.toString();
  };
  // Only when it changes: setting it again would close what a person has opened.
  const has_fault = createMemo(() => [...LIMITS, 'annotations' as const].some((name) => props.error(name) !== undefined));
  const annotation = (name: keyof Annotations, label: string) => (
    <Select label={label} options={HINT_OPTIONS} value={hint(name)} onChange={(value: Hint) => setHint(name, value)} />
  );
  return (
    <details class="panel builder-more" open={has_fault()}>
      <summary class="panel-head">
        <h2>Limits and hints</h2>
      </summary>
      <div class="panel-body stack">
        <div class="grid-2">
          <For each={LIMITS}>
            {(name) => <FormField form={props.form} name={name} placeholder={inherited(name)} error={props.error(name)} />}
          </For>
          {annotation('destructive_hint', 'Destructive')}
          {annotation('idempotent_hint', 'Idempotent')}
          {annotation('open_world_hint', 'Open world')}
        </div>
      </div>
    </details>
  );
}
