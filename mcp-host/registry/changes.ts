import { findResource, LIST_KINDS, type ListKind, type Registry, type ResourceEntry } from './registry.ts';
import { createAffectsView, type Viewer, type Views } from './views.ts';
import { skillAt } from './skill.ts';
import { type ListMethod, sameList } from '#mcp-host/protocol/lists.ts';

export type IsUpdated = (uri: string) => boolean;

/** The changes for one viewer. */
export interface Changes {
  readonly kinds: readonly ListKind[];
  /** Whether the resource at a URI has changed. */
  readonly is_updated: IsUpdated;
}

export const NO_CHANGES: Changes = { kinds: [], is_updated: () => false };

/** The changes of a swap for each viewer; they are computed once for viewers who see the same. */
export function createChanges(views: Views, before: Registry | null, after: Registry): (viewer: Viewer) => Changes {
  const known = new Map<string, Changes>();
  const isTouched = before === null ? () => true : createAffectsView(before, after);
  return (viewer) => {
    const key = `${viewer.endpoint.path} ${viewer.rights.key}`;
    const found =
      known.get(key) ??
      (isTouched(viewer) ? changesBetween(before && views.of(before, viewer), views.of(after, viewer)) : NO_CHANGES);
    known.set(key, found);
    return found;
  };
}

/** The changes between two registries; a missing one has no definitions. */
export const changesBetween = (before: Registry | null, after: Registry | null): Changes => ({
  kinds: changedLists(before, after),
  is_updated: createUpdates(before, after),
});

/** Whether the resource at a URI is defined differently in two registries; a missing one has no resources. */
function createUpdates(before: Registry | null, after: Registry | null): (uri: string) => boolean {
  const known = new Map<string, boolean>();
  const vars_differ = !isSame(before?.vars, after?.vars);
  const behind = (registry: Registry | null, uri: string) => (registry && findResource(registry, uri)?.resource) ?? null;
  const differs = (a: ResourceEntry | null, b: ResourceEntry | null): boolean => {
    if (a === null || b === null) return a !== b;
    if (a.connection.pool_key !== b.connection.pool_key || !isSame(a.entity, b.entity)) return true;
    return vars_differ && b.entity.transform_template !== null;
  };
  return (uri) => {
    const found =
      known.get(uri) ?? (differs(behind(before, uri), behind(after, uri)) || skillText(before, uri) !== skillText(after, uri));
    known.set(uri, found);
    return found;
  };
}

const skillText = (registry: Registry | null, uri: string): string | undefined =>
  registry === null ? undefined : skillAt(registry, uri)?.text;

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** The kinds whose lists differ between two registries; a missing one has empty lists. */
function changedLists(before: Registry | null, after: Registry | null): ListKind[] {
  const same = (method: ListMethod) => {
    const [a, b] = [before?.lists[method], after?.lists[method]];
    return a !== undefined && b !== undefined ? sameList(a, b) : (a ?? b)?.items.length === 0 || a === b;
  };
  const changed: Readonly<Record<ListKind, () => boolean>> = {
    tools: () => !same('tools/list'),
    resources: () => !same('resources/list') || !same('resources/templates/list'),
    prompts: () => !same('prompts/list'),
  };
  return LIST_KINDS.filter((kind) => changed[kind]());
}
