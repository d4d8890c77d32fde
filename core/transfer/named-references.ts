import * as v from 'valibot';
import { TESTED_KINDS, type TestOwner } from '#core/contract/definitions/tests.ts';
import { textBetween } from '#core/contract/fields.ts';
import type { EntityValues } from '#core/store/entity-table.ts';
import type { FieldError } from '#core/errors.ts';
import { selectionLists } from '#core/definitions/toolsets/members.ts';
import { Selection } from '#core/contract/definitions/toolsets.ts';
import { type EntityKind, kindOf } from '#core/contract/entities.ts';

/** The parts of a toolset that refer to other records. */
export const SELECTIONS = ['include', 'exclude'] as const;

type IdList = keyof typeof selectionLists;

const LISTS = Object.entries(selectionLists) as [IdList, (typeof selectionLists)[IdList]][];

const Names = v.optional(v.pipe(v.array(textBetween(1, 255)), v.maxLength(2_000)), []);

/** A selection in an export: names by the plural of each noun. */
export const NamedSelection = v.optional(
  v.strictObject({ tags: Selection.entries.tags, ...Object.fromEntries(LISTS.map(([, plural]) => [plural, Names])) }),
  {},
);

/** @param names by id. Deleted records have none and are omitted. */
export const toNames = (selection: Selection, names: ReadonlyMap<string, string>): EntityValues => ({
  tags: selection.tags,
  ...Object.fromEntries(LISTS.map(([list, plural]) => [plural, selection[list].flatMap((id) => names.get(id) ?? [])])),
});

/** Ids of the records of one noun, by name. */
export type IdsByName = ReadonlyMap<EntityKind, ReadonlyMap<string, string>>;

/** The owner of a test in an export, with a name instead of an id. */
export const NamedOwner = v.strictObject({ kind: v.picklist(TESTED_KINDS), name: textBetween(1, 255) });

export const toNamedOwner = ({ kind, id }: TestOwner, names: ReadonlyMap<string, string>): EntityValues => ({
  kind,
  name: names.get(id) ?? '',
});

/** Replaces the name of a test's owner by its id, or reports an unknown name. */
export function toOwnerId(
  draft: EntityValues,
  ids: IdsByName,
): { readonly draft: EntityValues; readonly faults: readonly FieldError[] } {
  const { kind, name } = draft['owner'] as v.InferOutput<typeof NamedOwner>;
  const id = ids.get(kind)?.get(name);
  if (id !== undefined) return { draft: { ...draft, owner: { kind, id } }, faults: [] };
  const message = `owner.name does not match any ${kind} in this file or this installation.`;
  return { draft, faults: [{ field: 'owner.name', message }] };
}

/** Replaces the names in the selections of a toolset by ids, and reports unknown names. */
export function toIds(
  draft: EntityValues,
  ids: IdsByName,
): { readonly draft: EntityValues; readonly faults: readonly FieldError[] } {
  const faults: FieldError[] = [];
  const resolved = SELECTIONS.map((part) => {
    const named = draft[part] as Readonly<Record<string, readonly string[]>>;
    const lists = LISTS.map(([list, plural]) => {
      const kind = kindOf(plural);
      const found = (named[plural] ?? []).flatMap((name, n) => {
        const id = kind === undefined ? undefined : ids.get(kind)?.get(name);
        if (id !== undefined) return [id];
        const field = `${part}.${plural}.${n}`;
        faults.push({ field, message: `${field} does not match any ${kind} in this file or this installation.` });
        return [];
      });
      return [list, found] as const;
    });
    return [part, { tags: named['tags'] ?? [], ...Object.fromEntries(lists) }] as const;
  });
  return { draft: { ...draft, ...Object.fromEntries(resolved) }, faults };
}
