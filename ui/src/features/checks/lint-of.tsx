import { Show } from 'solid-js';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { Loaded } from '#ui/src/components/show/loaded.tsx';
import { LintNotes } from './lint-notes.tsx';

/** Lint findings in a stored definition, read-only. @param owner such as `tool:<id>`. */
export function LintOf(props: { owner: string }) {
  const found = useQuery((read) => read('lint.list', { owner: props.owner, limit: 500 }));
  return (
    <Loaded of={found} rows={2} label="Loading findings">
      {(list) => (
        <Show when={list().items.length > 0} fallback={<EmptyState icon="check" title="No lint findings" />}>
          <LintNotes findings={list().items} />
        </Show>
      )}
    </Loaded>
  );
}
