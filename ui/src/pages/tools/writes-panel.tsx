import { createEffect, For } from 'solid-js';
import type { ToolDraft } from '#core/contract/definitions/tools.ts';
import { writeGuard } from '#core/contract/definitions/write-guard.ts';
import { Panel } from '#ui/src/components/panel.tsx';
import type { ErrorOf } from '#ui/src/features/builder/statement-builder.tsx';
import { FormField } from '#ui/src/fields/form-field.tsx';
import type { Form } from '#ui/src/kernel/form/form.ts';

type Guard = keyof typeof writeGuard;
const GUARD = Object.keys(writeGuard) as readonly Guard[];

/** What keeps a writing tool from changing more than somebody wants. */
export function WritesPanel(props: { form: Form<ToolDraft>; error: ErrorOf<ToolDraft> }) {
  const values = () => props.form.values;
  const HIDDEN: Partial<Readonly<Record<Guard, () => boolean>>> = {
    confirm_rows: () => values().confirm !== 'above',
    two_step: () => values().confirm === 'never',
  };
  // What is hidden has no effect, and would be refused.
  createEffect(() => {
    if (values().confirm !== 'above' && values().confirm_rows !== null) props.form.set('confirm_rows', null);
    if (values().confirm === 'never' && values().two_step) props.form.set('two_step', false);
  });
  return (
    <Panel title="Writes">
      <div class="grid-2">
        <For each={GUARD.filter((name) => HIDDEN[name]?.() !== true)}>
          {(name) => <FormField form={props.form} name={name} error={props.error(name)} />}
        </For>
      </div>
    </Panel>
  );
}
