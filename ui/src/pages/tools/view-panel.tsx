import { createMemo, createSignal, Show } from 'solid-js';
import { lazyPart } from '#ui/src/components/show/lazy-part.tsx';
import type { ToolDraft } from '#core/contract/definitions/tools.ts';
import type { StatementDraft } from '#ui/src/features/builder/statement-draft.ts';

const ViewFields = lazyPart(async () => (await import('./view-fields.tsx')).ViewFields);

/** How clients draw the result of a tool: loaded when it is opened. */
export function ViewPanel(props: { draft: StatementDraft<ToolDraft> }) {
  // Only when it changes: setting it again would close what a person has opened.
  const is_used = createMemo(() => props.draft.form.values.view !== null || props.draft.error('view') !== undefined);
  const [opened, setOpened] = createSignal(false);
  return (
    <details class="panel builder-more" open={is_used()} onToggle={(event) => setOpened(event.currentTarget.open)}>
      <summary class="panel-head">
        <h2>View</h2>
      </summary>
      <Show when={opened()}>
        <ViewFields draft={props.draft} />
      </Show>
    </details>
  );
}
