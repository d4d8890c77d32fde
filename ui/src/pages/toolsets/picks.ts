import type { Selection, ToolsetDraft } from '#core/contract/definitions/toolsets.ts';
import type { OwnedKind } from '#core/contract/entities.ts';
import type { Selectable } from './use-selectable.ts';

/** What can be chosen, by the name that people know. */
export interface Pickable {
  readonly id: string;
  readonly name: string;
}

const isId = (text: string): boolean => /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text);

/** The ids of what is named. A name that nothing has stays among them: it is refused, not left out. */
export function picksOf(names: readonly string[], from: readonly Pickable[]): string[] {
  const ids = new Map(from.map(({ id, name }) => [name, id]));
  return names.map((name) => ids.get(name) ?? name);
}

/** What is shown of what is chosen: names, also those that nothing has. What was deleted since is not shown. */
export function namesOf(picks: readonly string[], from: readonly Pickable[]): string[] {
  const picked = new Set(picks);
  return [...from.filter(({ id }) => picked.has(id)).map(({ name }) => name), ...unknownOf(picks)];
}

const unknownOf = (picks: readonly string[]): string[] => picks.filter((pick) => !isId(pick));
export function unknownFault(picks: readonly string[]): string | undefined {
  const unknown = unknownOf(picks);
  return unknown.length === 0 ? undefined : `Nothing is named ${unknown.join(' or ')}. Choose from the list.`;
}

/** A sentence for each side of the rule with a connection that does not exist. */
export const pickFaults = ({
  include,
  exclude,
}: Pick<ToolsetDraft, 'include' | 'exclude'>): Record<string, string | undefined> => ({
  'include.connection_ids': unknownFault(include.connection_ids),
  'exclude.connection_ids': unknownFault(exclude.connection_ids),
});

const LISTS = { tool: 'tool_ids', resource: 'resource_ids', prompt: 'prompt_ids' } as const satisfies Record<
  OwnedKind,
  keyof Selection
>;

/** The selected definitions of a rule, without those that were deleted since. */
export const pickedOf = (value: Selection, all: readonly Selectable[]): ReadonlySet<string> => {
  const picked = new Set(Object.values(LISTS).flatMap((list) => value[list]));
  return new Set(all.flatMap(({ id }) => (picked.has(id) ? [id] : [])));
};

/** The rule with these definitions instead of those it has. */
export const withPicked = (value: Selection, all: readonly Selectable[], picked: ReadonlySet<string>): Selection => {
  const of = (kind: OwnedKind) => all.flatMap((one) => (one.kind === kind && picked.has(one.id) ? [one.id] : []));
  return { ...value, tool_ids: of('tool'), resource_ids: of('resource'), prompt_ids: of('prompt') };
};
