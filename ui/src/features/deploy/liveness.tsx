import { createMemo, Show } from 'solid-js';
import type { EntityKind } from '#core/contract/entities.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';

type Liveness = 'live' | 'changed' | 'not_deployed';

const SHOWN = {
  live: { label: 'live', tone: 'good' },
  changed: { label: 'changed', tone: 'warning' },
  not_deployed: { label: 'not deployed', tone: 'plain' },
} as const;

/**
 * How definitions of one kind stand to the version that is deployed; undefined while that is not known.
 * @param again another value of it asks again.
 */
export function useLiveness(
  kind: () => EntityKind,
  again: () => unknown = () => undefined,
): (entity: { readonly name: string; readonly enabled: boolean }) => Liveness | undefined {
  const pending = useQuery((read) => read('deploy.diff', { values: false }), { again });
  const changes = createMemo(
    () =>
      new Map(
        (pending.data()?.changes ?? []).filter(({ entity_type }) => entity_type === kind()).map((one) => [one.name, one.change]),
      ),
  );
  return ({ name, enabled }) => {
    const diff = pending.data();
    if (diff === undefined) return undefined;
    const change = changes().get(name);
    if (diff.from_version === null || change === 'added') return 'not_deployed';
    // What is switched off is served until the next deploy.
    if (!enabled) return change === 'removed' ? 'changed' : 'not_deployed';
    return change === undefined ? 'live' : 'changed';
  };
}

/** Whether MCP clients get it now, perhaps as it was at the last deploy. */
export const isServed = (state: Liveness | undefined): boolean => state === 'live' || state === 'changed';

export function LivenessBadge(props: { state: Liveness | undefined }) {
  return <Show when={props.state}>{(state) => <Badge tone={SHOWN[state()].tone}>{SHOWN[state()].label}</Badge>}</Show>;
}
