import { createMemo, createSignal, Show } from 'solid-js';
import { lazyPart } from '#ui/src/components/show/lazy-part.tsx';
import type { ToolDraft } from '#core/contract/definitions/tools.ts';
import type { ErrorOf } from '#ui/src/features/builder/statement-builder.tsx';
import type { Statement } from '#ui/src/features/builder/use-statement.ts';
import type { Form } from '#ui/src/kernel/form/form.ts';

const ViewFields = lazyPart(async () => (await import('./view-fields.tsx')).ViewFields);

/** How clients draw the result of a tool: loaded and drawn only where somebody looks. */
export function ViewPanel(props: { form: Form<ToolDraft>; statement: Statement; error: ErrorOf<ToolDraft> }) {
  // Only when it changes: setting it again would close what a person has opened.
  const is_used = createMemo(() => props.form.values.view !== null || props.error('view') !== undefined);
  const [opened, setOpened] = createSignal(false);
  return (
    <details class="panel builder-more" open={is_used()} onToggle={(event) => setOpened(event.currentTarget.open)}>
      <summary class="panel-head">
        <h2>View</h2>
      </summary>
      <Show when={opened()}>
        <ViewFields form={props.form} statement={props.statement} error={props.error} />
      </Show>
    </details>
  );
}
