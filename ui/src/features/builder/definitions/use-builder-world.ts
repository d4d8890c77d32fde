import type { EntityNoun } from './bulk.ts';
import { useQuery } from '#ui/src/components/use-query.ts';

const MOST = 500;

/** What a builder chooses from: the connections, and the tags that are in use. */
export function useBuilderWorld(noun: EntityNoun) {
  const connections = useQuery((read) => read('connections.list', { limit: MOST }));
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
