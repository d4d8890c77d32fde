import { type JSX, Show } from 'solid-js';
import type { TestedKind } from '#core/contract/definitions/tests.ts';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { Loaded } from '#ui/src/components/show/loaded.tsx';
import { LintNotes } from './lint-notes.tsx';

/** What lint finds in a stored definition, to read; undefined while it is new. */
export const lintOf = (kind: TestedKind, stored: { readonly id: string } | undefined): (() => JSX.Element) | undefined =>
  stored === undefined ? undefined : () => <Findings owner={`${kind}:${stored.id}`} />;

function Findings(props: { owner: string }) {
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
