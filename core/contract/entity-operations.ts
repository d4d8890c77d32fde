import * as v from 'valibot';
import { byId, entityFilters, Id, listOf, Nothing, patchOf, textBetween, Version } from './fields.ts';
import { type Operation, operation } from './operation.ts';

/** The parts of the common operations that differ between kinds. */
interface EntityOperations<K extends string, P extends string, E extends v.ObjectEntries, R, F extends v.ObjectEntries> {
  readonly kind: K;
  readonly plural: P;
  readonly draft: v.StrictObjectSchema<E, undefined>;
  readonly record: R;
  /** Filters of the list, besides the common ones. */
  readonly filters: F;
  /** False: agents have a separate list operation. */
  readonly agents_list: boolean;
  /** False: agents use the list instead. */
  readonly agents_get?: boolean;
  /** Records that are deleted with it, for the summary of `delete`. */
  readonly owns?: string;
}

/** List filters for kinds that belong to a connection. */
export const ownedFilters = { connection_id: v.optional(Id), tags: v.optional(textBetween(1, 2_000)) };

/** The input of a PATCH. */
export const changesOf = <E extends v.ObjectEntries>({ entries }: v.StrictObjectSchema<E, undefined>) =>
  v.strictObject({ id: Id, version: v.optional(Version), ...patchOf(entries) });

/** Defines `list`, `create`, `get`, `update` and `delete` of a kind. */
export function entityOperations<
  K extends string,
  P extends string,
  E extends v.ObjectEntries,
  R extends v.GenericSchema,
  F extends v.ObjectEntries,
>({ kind, plural, draft, record, filters, agents_list, agents_get = true, owns }: EntityOperations<K, P, E, R, F>) {
  const path = `/${plural}` as const;
  return named(plural, {
    list: operation(`GET ${path}`, 'read', {
      input: v.strictObject({ ...entityFilters, ...filters }),
      output: listOf(record),
      ...(agents_list ? { agent: `list_${plural}` } : {}),
      summary: `List ${plural}`,
    }),
    create: operation(`POST ${path}`, 'write', {
      input: draft,
      output: record,
      status: 201,
      agent: `create_${kind}`,
      summary: `Create a ${kind}`,
    }),
    get: operation(`GET ${path}/{id}`, 'read', {
      input: byId,
      output: record,
      ...(agents_get ? { agent: `get_${kind}` } : {}),
      summary: `Read a ${kind}`,
    }),
    update: operation(`PATCH ${path}/{id}`, 'write', {
      input: changesOf(draft),
      output: record,
      agent: `update_${kind}`,
      summary: `Change fields of a ${kind}`,
    }),
    delete: operation(`DELETE ${path}/{id}`, 'write', {
      input: v.strictObject({ id: Id, version: v.optional(Version) }),
      output: Nothing,
      status: 204,
      summary: `Delete a ${kind}${owns === undefined ? '' : ` with its ${owns}`}`,
    }),
  });
}

type Named<P extends string, V> = { readonly [N in keyof V & string as `${P}.${N}`]: V[N] };
const named = <P extends string, V extends Record<string, Operation>>(plural: P, verbs: V): Named<P, V> =>
  Object.fromEntries(Object.entries(verbs).map(([verb, definition]) => [`${plural}.${verb}`, definition])) as Named<P, V>;
