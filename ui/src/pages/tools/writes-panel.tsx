import { createEffect, For } from 'solid-js';
import type { ToolDraft } from '#core/contract/definitions/tools.ts';
import { writeGuard } from '#core/contract/definitions/write-guard.ts';
import { Panel } from '#ui/src/components/panel.tsx';
import type { StatementDraft } from '#ui/src/features/builder/statement-draft.ts';
import { FormField } from '#ui/src/fields/form-field.tsx';

type Guard = keyof typeof writeGuard;
const GUARD = Object.keys(writeGuard) as readonly Guard[];

/** Limits and confirmations of a writing tool. */
export function WritesPanel(props: { draft: StatementDraft<ToolDraft> }) {
  const values = () => props.draft.form.values;
  const HIDDEN: Partial<Readonly<Record<Guard, () => boolean>>> = {
    confirm_rows: () => values().confirm !== 'above',
    two_step: () => values().confirm === 'never',
  };
  // What is hidden has no effect, and would be refused.
  createEffect(() => {
    if (values().confirm !== 'above' && values().confirm_rows !== null) props.draft.form.set('confirm_rows', null);
    if (values().confirm === 'never' && values().two_step) props.draft.form.set('two_step', false);
  });
  return (
    <Panel title="Writes">
      <div class="grid-2">
        <For each={GUARD.filter((name) => HIDDEN[name]?.() !== true)}>
          {(name) => <FormField form={props.draft.form} name={name} error={props.draft.error(name)} />}
        </For>
      </div>
    </Panel>
  );
}
