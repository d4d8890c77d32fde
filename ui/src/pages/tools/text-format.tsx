import { createEffect, Show } from 'solid-js';
import type { ToolDraft } from '#core/contract/definitions/tools.ts';
import type { StatementDraft } from '#ui/src/features/builder/statement-draft.ts';
import { FormField } from '#ui/src/fields/form-field.tsx';
import { num } from '#ui/src/kernel/numbers.ts';

/** Return types with structured content and a text. */
const STRUCTURED: ReadonlySet<ToolDraft['return_type']> = new Set(['rows', 'row', 'column']);
const NAMES = { json: 'JSON', markdown: 'Markdown', csv: 'CSV', tsv: 'TSV' } as const;

/** How the text beside a structured result is written, with what each form of the previewed rows costs. */
export function TextFormatField(props: { draft: StatementDraft<ToolDraft> }) {
  const fits = () => STRUCTURED.has(props.draft.form.values.return_type) && props.draft.form.values.transform_template === null;
  // What is hidden has no effect, and would be refused.
  createEffect(() => {
    if (!fits() && props.draft.form.values.text_format !== 'json') props.draft.form.set('text_format', 'json');
  });
  const costs = () => {
    const tokens = props.draft.statement.result()?.format_tokens;
    if (tokens === undefined) return undefined;
    const each = (Object.keys(NAMES) as (keyof typeof NAMES)[]).map((name) => `${NAMES[name]} ${num(tokens[name] ?? 0)}`);
    return `Tokens of the previewed rows, about: ${each.join(', ')}.`;
  };
  return (
    <Show when={fits()}>
      <FormField form={props.draft.form} name="text_format" error={props.draft.error('text_format')} hint={costs()} />
    </Show>
  );
}
