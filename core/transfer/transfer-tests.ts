import * as v from 'valibot';
import { TESTED_KINDS, type TestOwner } from '#core/contract/definitions/tests.ts';
import { textBetween } from '#core/contract/fields.ts';
import type { FieldError } from '#core/errors.ts';
import type { Values } from '#core/store/entity-table.ts';
import type { IdsByName } from './transfer-toolsets.ts';

/** The definition of a test as an export holds it: its name in the place of its id. */
export const NamedOwner = v.strictObject({ kind: v.picklist(TESTED_KINDS), name: textBetween(1, 255) });

export const toNamedOwner = ({ kind, id }: TestOwner, names: ReadonlyMap<string, string>): Values => ({
  kind,
  name: names.get(id) ?? '',
});

/** A test with the id of its definition in the place of the name, or what names nothing. */
export function toOwnerId(draft: Values, ids: IdsByName): { readonly draft: Values; readonly faults: readonly FieldError[] } {
  const { kind, name } = draft['owner'] as v.InferOutput<typeof NamedOwner>;
  const id = ids.get(kind)?.get(name);
  if (id !== undefined) return { draft: { ...draft, owner: { kind, id } }, faults: [] };
  const message = `owner.name does not match any ${kind} in this file or this installation.`;
  return { draft, faults: [{ field: 'owner.name', message }] };
}
