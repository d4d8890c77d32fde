import { isOpenTo } from '#snapshots/format/toolsets.ts';

/** What a caller may see and call. Callers with equal keys see the same: what is kept for one of them is for all of them. */
export interface Rights {
  readonly key: string;
  /** Names of toolsets, sorted, whether they exist or not; null: everything that is deployed. */
  readonly toolsets: readonly string[] | null;
  /** Names of toolsets that a signed-in person does not have, but would get by asking for their scopes. */
  readonly may_ask: readonly string[];
}

const NONE: readonly string[] = [];

/** @param toolsets null: everything. @param may_ask further ones that a person could ask for; they give nothing yet. */
export function rightsOf(toolsets: readonly string[] | null, may_ask: readonly string[] = NONE): Rights {
  const names = toolsets && [...new Set(toolsets)].sort();
  return { key: names === null ? '' : JSON.stringify(names), toolsets: names, may_ask: [...may_ask].sort() };
}

/** Everything that is deployed. */
export const FULL_RIGHTS = rightsOf(null);

/** What decides who has a deployed toolset. */
export interface ToolsetAccess {
  readonly name: string;
  /** Empty: everyone who signs in. */
  readonly groups: readonly string[];
}

/**
 * Of a signed-in person: the toolsets of everyone and of its groups, cut to the scopes that were granted; none granted: all of these,
 * and while there is no toolset everything. What was granted a part never gets more because that part is gone.
 */
export function rightsOfPerson(toolsets: readonly ToolsetAccess[], groups: readonly string[], scopes: readonly string[]): Rights {
  if (toolsets.length === 0 && scopes.length === 0) return FULL_RIGHTS;
  const allowed = toolsets.flatMap((one) => (isOpenTo(one, groups) ? [one.name] : []));
  // The server grants names of toolsets alone: of a name that is none any more, nothing comes.
  const asked = new Set(scopes);
  if (asked.size === 0) return rightsOf(allowed);
  return rightsOf(
    allowed.filter((name) => asked.has(name)),
    allowed.filter((name) => !asked.has(name)),
  );
}

/** Of a caller whose token another server issued: the toolsets that its scopes name; while there is none, everything. */
export const rightsOfScopes = (toolsets: readonly ToolsetAccess[], scopes: readonly string[]): Rights =>
  toolsets.length === 0 ? FULL_RIGHTS : rightsOf(toolsets.map(({ name }) => name).filter((name) => scopes.includes(name)));
