import { findResource } from '#mcp-host/call/perform.ts';
import type { Registry, ResourceEntry } from '#mcp-host/swap/registry.ts';

/** Tells of a URI whether what is behind it is defined differently in two registries; a missing one has no resources. */
export function createUpdates(before: Registry | null, after: Registry | null): (uri: string) => boolean {
  const known = new Map<string, boolean>();
  const vars_differ = !isSame(before?.vars, after?.vars);
  const behind = (registry: Registry | null, uri: string) => (registry && findResource(registry, uri)?.resource) ?? null;
  const differs = (a: ResourceEntry | null, b: ResourceEntry | null): boolean => {
    if (a === null || b === null) return a !== b;
    if (a.connection.pool_key !== b.connection.pool_key || !isSame(a.entity, b.entity)) return true;
    return vars_differ && b.entity.transform_template !== null;
  };
  return (uri) => {
    const found = known.get(uri) ?? differs(behind(before, uri), behind(after, uri));
    known.set(uri, found);
    return found;
  };
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
