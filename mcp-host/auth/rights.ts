import { isOpenTo } from '#snapshots/format/toolsets.ts';

/** What a caller may see and call. Callers with equal keys see the same, so they share cached views and results. */
export interface Rights {
  readonly key: string;
  /** Names of toolsets, sorted, whether they exist or not; null: everything that is deployed. */
  readonly toolsets: readonly string[] | null;
  /** Names of toolsets that a signed-in person lacks, but would get by requesting their scopes. */
  readonly may_ask: readonly string[];
}

const NONE: readonly string[] = [];

/** @param toolsets null: everything. @param may_ask further toolsets that a person could request; they grant nothing yet. */
export function rightsOf(toolsets: readonly string[] | null, may_ask: readonly string[] = NONE): Rights {
  const names = toolsets && [...new Set(toolsets)].sort();
  return { key: names === null ? '' : JSON.stringify(names), toolsets: names, may_ask: [...may_ask].sort() };
}

/** Everything that is deployed. */
export const FULL_RIGHTS = rightsOf(null);

/** A deployed toolset, and who has it. */
export interface ToolsetAccess {
  readonly name: string;
  /** Empty: every signed-in person. */
  readonly groups: readonly string[];
}

/**
 * Rights of a signed-in person: the toolsets open to everyone and to the person's groups, limited to the granted scopes. No scope
 * granted: all of these, or everything while no toolset is deployed. A grant for a part never widens when that part is removed.
 */
export function rightsOfPerson(toolsets: readonly ToolsetAccess[], groups: readonly string[], scopes: readonly string[]): Rights {
  if (toolsets.length === 0 && scopes.length === 0) return FULL_RIGHTS;
  const allowed = toolsets.flatMap((one) => (isOpenTo(one, groups) ? [one.name] : []));
  // The server grants only names of toolsets; a name that no longer exists gives nothing.
  const granted = new Set(scopes);
  if (granted.size === 0) return rightsOf(allowed);
  return rightsOf(
    allowed.filter((name) => granted.has(name)),
    allowed.filter((name) => !granted.has(name)),
  );
}

/**
 * Rights of a caller whose token another server issued: the toolsets that its scopes name, or everything while no toolset is
 * deployed.
 */
export const rightsOfScopes = (toolsets: readonly ToolsetAccess[], scopes: readonly string[]): Rights =>
  toolsets.length === 0 ? FULL_RIGHTS : rightsOf(toolsets.map(({ name }) => name).filter((name) => scopes.includes(name)));
