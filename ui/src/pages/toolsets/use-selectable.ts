import { createMemo } from 'solid-js';
import type { OwnedKind } from '#core/contract/entities.ts';
import type { Output } from '#core/contract/index.ts';
import { keepEqual } from '#ui/src/kernel/data/query.ts';
import { useQuery } from '#ui/src/components/use-query.ts';

/** A definition that a toolset can hold. */
export interface Selectable {
  readonly id: string;
  readonly kind: OwnedKind;
  readonly name: string;
  readonly enabled: boolean;
  readonly tags: readonly string[];
  readonly connection_id: string | null;
  /** Empty for a prompt without one. */
  readonly connection_name: string;
}

/** Every definition that a toolset can select, by database, and the connections and tags of its rules. */
export function useSelectable() {
  const layout = useQuery((read) => read('flow.layout', {}));
  const definitions = createMemo<readonly Selectable[]>((before) => {
    const found = layout.data();
    return found === undefined ? [] : keepEqual(before, definitionsOf(found));
  }, []);
  return {
    ready: () => layout.data() !== undefined,
    problem: layout.problem,
    reload: layout.reload,
    connections: () => layout.data()?.connections ?? [],
    definitions,
    tags: () => [...new Set(definitions().flatMap(({ tags }) => tags))].sort(),
  };
}

export function definitionsOf({ connections, tools, resources, prompts }: Output<'flow.layout'>): Selectable[] {
  const names = new Map(connections.map(({ id, name }) => [id, name]));
  const of = (kind: OwnedKind, list: typeof prompts) =>
    list.map(({ id, name, enabled, tags, connection_id }) => {
      const connection_name = names.get(connection_id ?? '') ?? '';
      return { id, kind, name, enabled, tags, connection_id, connection_name };
    });
  const all = [...of('tool', tools), ...of('resource', resources), ...of('prompt', prompts)];
  // Stable: within a database tools come first, in the order of the list.
  return all.toSorted((a, b) => a.connection_name.localeCompare(b.connection_name));
}
