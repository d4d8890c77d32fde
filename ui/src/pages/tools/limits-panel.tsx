import { createMemo, For } from 'solid-js';
import { type Annotations, type ToolDraft, toolLimits } from '#core/contract/definitions/tools.ts';
import type { StatementDraft } from '#ui/src/features/builder/statement-draft.ts';
import { Select } from '#ui/src/components/form/select.tsx';
import { FormField } from '#ui/src/fields/form-field.tsx';

const HINTS = { default: undefined, yes: true, no: false } as const;
type Hint = keyof typeof HINTS;
const HINT_OPTIONS = [
  { value: 'default', label: 'Not set' },
  { value: 'yes', label: 'Yes' },
  { value: 'no', label: 'No' },
] as const;
type Limit = keyof typeof toolLimits;
const LIMITS = Object.keys(toolLimits) as readonly Limit[];

/** Settings that most tools leave at their defaults. */
export function LimitsPanel(props: { draft: StatementDraft<ToolDraft> }) {
  const hint = (name: keyof Annotations): Hint => {
    const value = props.draft.form.values.annotations[name];
    return value === undefined ? 'default' : value ? 'yes' : 'no';
  };
  const setHint = (name: keyof Annotations, value: Hint) => {
    const { [name]: _before, ...rest } = props.draft.form.values.annotations;
    const chosen = HINTS[value];
    props.draft.form.set('annotations', chosen === undefined ? rest : { ...rest, [name]: chosen });
  };
  /** The limit of the connection, which applies when the tool has none. */
  const inherited = (name: Limit): string | undefined => {
    const connection = props.draft.statement.connection();
    const limits: Partial<Record<Limit, number | undefined>> = {
      timeout_ms: connection?.query_timeout_ms,
      max_rows: connection?.max_rows,
      max_bytes: connection?.max_bytes,
    };
    return limits[name]?.toString();
  };
  // Memoized: setting `open` again would close a section that a person has opened.
  const has_fault = createMemo(() => [...LIMITS, 'annotations' as const].some((name) => props.draft.error(name) !== undefined));
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
            {(name) => (
              <FormField form={props.draft.form} name={name} placeholder={inherited(name)} error={props.draft.error(name)} />
            )}
          </For>
          {annotation('destructive_hint', 'Destructive')}
          {annotation('idempotent_hint', 'Idempotent')}
          {annotation('open_world_hint', 'Open world')}
        </div>
      </div>
    </details>
  );
}
