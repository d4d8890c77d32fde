import { type JSX, Show } from 'solid-js';
import { type Tool, ToolDraft } from '#core/contract/definitions/tools.ts';
import { toToolDraft } from '#ui/src/features/builder/drafts.ts';
import { trimmed } from '#ui/src/features/builder/parameters/parameters.ts';
import { askedOf, StatementBuilder } from '#ui/src/features/builder/statement-builder.tsx';
import { type BuilderProps, useBuilder } from '#ui/src/features/builder/use-builder.ts';
import { ownId } from '#ui/src/features/builder/use-draft-check.ts';
import { FormField } from '#ui/src/fields/form-field.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { LimitsPanel } from './limits-panel.tsx';
import { ViewPanel } from './view-panel.tsx';
import { PagesPanel } from './pages-panel.tsx';
import { TextFormatField } from './text-format.tsx';
import { WritesPanel } from './writes-panel.tsx';

/** One tool, from its statement to what a model sees of it. */
export function ToolBuilder(
  props: BuilderProps<ToolDraft, Tool> & {
    /** Where the statement can come from. */
    before?: JSX.Element;
  },
) {
  const { call } = useKernel();
  const builder = useBuilder<ToolDraft, Tool>({
    noun: 'tools',
    schema: ToolDraft,
    props,
    draftOf: toToolDraft,
    clean: (draft) => ({ ...draft, parameters: draft.parameters.map(trimmed) }),
    create: (draft) => call('tools.create', draft),
    update: (change) => call('tools.update', change),
    read: (id) => call('tools.get', { id }),
    example: ['description', 'sql_query', 'parameters'],
  });
  const { form } = builder;
  return (
    <StatementBuilder
      kind="tool"
      builder={builder}
      stored={props.entity}
      connections={props.connections}
      tags={props.tags}
      asked={(draft) => ({
        ...ownId(props.entity),
        ...askedOf(draft),
        return_type: draft.return_type,
        read_only: draft.read_only,
        annotations: draft.annotations,
        max_affected_rows: draft.max_affected_rows,
        confirm: draft.confirm,
        confirm_rows: draft.confirm_rows,
        two_step: draft.two_step,
        page_by: draft.page_by,
        text_format: draft.text_format,
        max_tokens: draft.max_tokens,
        ask_missing: draft.ask_missing,
      })}
      check={(input, signal) => call('preview.tool', input, signal)}
      becomes={() => ({ return_type: form.values.return_type, text_format: form.values.text_format })}
      view={() => form.values.view}
      no_parameters="Write :name in the statement and its parameter appears here."
      template="Transform the result with a template"
      lead="A model decides from these texts whether to call the tool."
      before={props.before}
      result={(error, statement) => (
        <>
          <FormField form={form} name="return_type" error={error('return_type')} />
          <TextFormatField form={form} error={error} preview={statement.result()} />
        </>
      )}
      last={(error, statement) => (
        <>
          <Show when={statement.writes()}>
            <WritesPanel form={form} error={error} />
          </Show>
          <ViewPanel form={form} statement={statement} error={error} />
          <Show when={!statement.writes() || form.values.page_by.length > 0}>
            <PagesPanel form={form} error={error} columns={statement.result()?.columns ?? []} />
          </Show>
          <LimitsPanel form={form} connection={statement.connection()} error={error} />
        </>
      )}
    />
  );
}
