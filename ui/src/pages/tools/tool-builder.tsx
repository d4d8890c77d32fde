import { type JSX, Show } from 'solid-js';
import { type Tool, ToolDraft } from '#core/contract/definitions/tools.ts';
import type { DefinitionProps } from '#ui/src/features/builder/definition-draft.ts';
import { toToolDraft } from '#ui/src/features/builder/drafts.ts';
import { StatementBuilder } from '#ui/src/features/builder/statement-builder.tsx';
import { statementInput, useStatementDraft } from '#ui/src/features/builder/statement-draft.ts';
import { lazyPart } from '#ui/src/components/show/lazy-part.tsx';
import { FormField } from '#ui/src/fields/form-field.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { LimitsPanel } from './limits-panel.tsx';
import { ViewPanel } from './view-panel.tsx';
import { PagesPanel } from './pages-panel.tsx';
import { TextFormatField } from './text-format.tsx';

/** Only for tools that write. */
const WritesPanel = lazyPart(async () => (await import('./writes-panel.tsx')).WritesPanel);

const planLimitsOf = ({ max_plan_rows, max_plan_cost, plan_limit }: ToolDraft) => ({ max_plan_rows, max_plan_cost, plan_limit });

/** One tool, from its statement to what a model sees of it. */
export function ToolBuilder(
  props: DefinitionProps<ToolDraft, Tool> & {
    /** A source for the statement. */
    before?: JSX.Element;
  },
) {
  const { call } = useKernel();
  const draft = useStatementDraft({
    noun: 'tools',
    schema: ToolDraft,
    props,
    toDraft: toToolDraft,
    create: (values) => call('tools.create', values),
    update: (change) => call('tools.update', change),
    read: (id) => call('tools.get', { id }),
    example: ['description', 'sql_query', 'parameters'],
    input: (values: ToolDraft) => ({
      ...statementInput(values),
      return_type: values.return_type,
      read_only: values.read_only,
      annotations: values.annotations,
      max_affected_rows: values.max_affected_rows,
      confirm: values.confirm,
      confirm_rows: values.confirm_rows,
      two_step: values.two_step,
      page_by: values.page_by,
      text_format: values.text_format,
      files: values.files,
      max_tokens: values.max_tokens,
      ...planLimitsOf(values),
      ask_missing: values.ask_missing,
    }),
    check: (input, signal) => call('preview.tool', input, signal),
    becomes: (values) => ({
      return_type: values.return_type,
      text_format: values.text_format,
      ...planLimitsOf(values),
    }),
  });
  return (
    <StatementBuilder
      draft={draft}
      before={props.before}
      result={
        <>
          <FormField form={draft.form} name="return_type" error={draft.error('return_type')} />
          <TextFormatField draft={draft} />
          <FormField form={draft.form} name="files" error={draft.error('files')} />
        </>
      }
    >
      <Show when={draft.statement.writes()}>
        <WritesPanel draft={draft} />
      </Show>
      <ViewPanel draft={draft} />
      <Show when={!draft.statement.writes() || draft.form.values.page_by.length > 0}>
        <PagesPanel draft={draft} />
      </Show>
      <LimitsPanel draft={draft} />
    </StatementBuilder>
  );
}
