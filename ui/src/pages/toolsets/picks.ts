import type { Selection, ToolsetDraft } from '#core/contract/definitions/toolsets.ts';

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

const LISTS = ['connection_ids', 'tool_ids', 'resource_ids', 'prompt_ids'] as const satisfies readonly (keyof Selection)[];

/** A sentence for each list with a name that nothing has. */
export const pickFaults = (draft: Pick<ToolsetDraft, 'include' | 'exclude'>): Record<string, string | undefined> =>
  Object.fromEntries(
    (['include', 'exclude'] as const).flatMap((part) =>
      LISTS.map((list) => [`${part}.${list}`, unknownFault(draft[part][list])] as const),
    ),
  );
