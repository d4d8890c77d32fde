import { createMemo, For, Show } from 'solid-js';
import type { Drifted } from '#core/contract/deploy/drift.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { Ago } from '#ui/src/components/time.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';

/** Deployed definitions whose tables have changed, by id. */
export function useDrift(): (id: string) => Drifted | undefined {
  const query = useQuery((read) => read('drift.list', {}));
  const by_id = createMemo(() => new Map((query.data()?.items ?? []).map((item) => [item.id, item])));
  return (id) => by_id().get(id);
}

export function DriftBadge(props: { drift: Drifted | undefined }) {
  return (
    <Show when={props.drift}>
      {(drift) => (
        <Badge tone="bad" title={drift().differences.join(' ')}>
          Drifted
        </Badge>
      )}
    </Show>
  );
}

/** Shown on the page of a definition until it is deployed again. */
export function DriftNotice(props: { drift: Drifted | undefined }) {
  return (
    <Show when={props.drift}>
      {(drift) => (
        <Notice tone="bad" title="The tables of this definition have changed since the deploy">
          <ul>
            <For each={drift().differences}>{(difference) => <li>{difference}</li>}</For>
          </ul>
          <p class="small soft">
            Found <Ago iso={drift().since} />. Check the statement and deploy again.
          </p>
        </Notice>
      )}
    </Show>
  );
}
