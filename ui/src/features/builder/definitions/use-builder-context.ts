import type { Connection } from '#core/contract/definitions/connections.ts';
import { ENTITY_TYPE, type EntityNoun } from './bulk.ts';
import { allOf } from '#ui/src/kernel/data/all-of.ts';
import { useQuery } from '#ui/src/components/use-query.ts';

const MOST = 500;

/** What a new definition begins with: the first connection that is in use. */
export const firstEnabled = (connections: readonly Connection[]): Connection | undefined =>
  connections.find(({ enabled }) => enabled) ?? connections[0];

/** What a builder chooses from: the connections, and the tags that are in use. */
export function useBuilderContext(noun: EntityNoun) {
  const connections = useQuery((read) => allOf((skip, limit) => read('connections.list', { skip, limit }), MOST));
  const tags = useQuery((read) => read('definitions.tags', { kind: ENTITY_TYPE[noun] }));
  return {
    connections: () => connections.data()?.items,
    tags: () => tags.data()?.items ?? [],
    problem: () => (connections.data() === undefined ? connections.problem() : undefined),
    reload: () => connections.reload(),
  };
}
