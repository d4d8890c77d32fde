import { createEffect, Show } from 'solid-js';
import type { Preview } from '#core/contract/definitions/preview.ts';
import type { ToolDraft } from '#core/contract/definitions/tools.ts';
import type { ErrorOf } from '#ui/src/features/builder/statement-builder.tsx';
import { FormField } from '#ui/src/fields/form-field.tsx';
import { num } from '#ui/src/kernel/numbers.ts';
import type { Form } from '#ui/src/kernel/form/form.ts';

/** Return types with structured content, beside which a text stands. */
const STRUCTURED: ReadonlySet<ToolDraft['return_type']> = new Set(['rows', 'row', 'column']);
const NAMES = { json: 'JSON', markdown: 'Markdown', csv: 'CSV', tsv: 'TSV' } as const;

/** How the text beside a structured result is written, with what each form of the previewed rows costs. */
export function TextFormatField(props: { form: Form<ToolDraft>; error: ErrorOf<ToolDraft>; preview: Preview | undefined }) {
  const fits = () => STRUCTURED.has(props.form.values.return_type) && props.form.values.transform_template === null;
  // What is hidden has no effect, and would be refused.
  createEffect(() => {
    if (!fits() && props.form.values.text_format !== 'json') props.form.set('text_format', 'json');
  });
  const costs = () => {
    const tokens = props.preview?.format_tokens;
    if (tokens === undefined) return undefined;
    const each = (Object.keys(NAMES) as (keyof typeof NAMES)[]).map((name) => `${NAMES[name]} ${num(tokens[name] ?? 0)}`);
    return `Tokens of the previewed rows, about: ${each.join(', ')}.`;
  };
  return (
    <Show when={fits()}>
      <FormField form={props.form} name="text_format" error={props.error('text_format')} hint={costs()} />
    </Show>
  );
}
