import type { EntityNoun } from '#ui/src/kernel/builder-bulk.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { useQuery } from '#ui/src/components/use-query.ts';

const MOST = 500;

/** What a builder chooses from: the connections, and the tags that are in use. */
export function useBuilderWorld(noun: EntityNoun) {
  const { call } = useKernel();
  const connections = useQuery((signal) => call('connections.list', { limit: MOST }, signal));
  const others = useQuery(async (signal): Promise<readonly string[]> => {
    const { items } = await call(`${noun}.list`, { limit: MOST }, signal);
    return [...new Set(items.flatMap(({ tags }) => tags))].sort();
  });
  return {
    connections: () => connections.data()?.items,
    tags: () => others.data() ?? [],
    problem: () => (connections.data() === undefined ? connections.problem() : undefined),
    reload: () => connections.reload(),
  };
}
