import type { Connection } from '#core/contract/definitions/connections.ts';
import type { EntityNoun } from './bulk.ts';
import { allOf } from '#ui/src/kernel/data/all-of.ts';
import { useQuery } from '#ui/src/components/use-query.ts';

const MOST = 500;

/** What a new definition begins with: the first connection that is in use. */
export const firstEnabled = (connections: readonly Connection[]): Connection | undefined =>
  connections.find(({ enabled }) => enabled) ?? connections[0];

/** What a builder chooses from: the connections, and the tags that are in use. */
export function useBuilderContext(noun: EntityNoun) {
  const connections = useQuery((read) => allOf((skip, limit) => read('connections.list', { skip, limit }), MOST));
  const others = useQuery(async (read): Promise<readonly string[]> => {
    const { items } = await read(`${noun}.list`, { limit: MOST });
    return [...new Set(items.flatMap(({ tags }) => tags))].sort();
  });
  return {
    connections: () => connections.data()?.items,
    tags: () => others.data() ?? [],
    problem: () => (connections.data() === undefined ? connections.problem() : undefined),
    reload: () => connections.reload(),
  };
}
