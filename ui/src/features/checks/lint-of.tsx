import { type JSX, Show } from 'solid-js';
import type { TestedKind } from '#core/contract/definitions/tests.ts';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { Failed } from '#ui/src/components/notice.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { LintNotes } from './lint-notes.tsx';

/** What lint finds in a stored definition, to read; undefined while it is new. */
export const lintOf = (kind: TestedKind, stored: { readonly id: string } | undefined): (() => JSX.Element) | undefined =>
  stored === undefined ? undefined : () => <Findings owner={`${kind}:${stored.id}`} />;

function Findings(props: { owner: string }) {
  const found = useQuery((read) => read('lint.list', { owner: props.owner, limit: 500 }));
  return (
    <>
      <Failed of={found} />
      <Show when={found.data()?.items} fallback={<SkeletonList rows={2} label="Loading findings" failed={found.problem()} />}>
        {(items) => (
          <Show when={items().length > 0} fallback={<EmptyState icon="check" title="No lint findings" />}>
            <LintNotes findings={items()} />
          </Show>
        )}
      </Show>
    </>
  );
}
