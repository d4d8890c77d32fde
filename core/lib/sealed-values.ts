import type { Sealed } from '#core/contract/fields.ts';

/** A sealed value with its place: the associated data that it opens with. */
export interface SecretAt {
  readonly place: string;
  readonly sealed: string;
}

export const isSealed = (value: unknown): value is Sealed =>
  typeof value === 'object' && value !== null && typeof (value as Partial<Sealed>).$sealed === 'string';

/** The same value with something else in the place of every sealed one. */
export function replaceSealed(value: unknown, replacement: (sealed: string) => unknown): unknown {
  if (isSealed(value)) return replacement(value.$sealed);
  if (Array.isArray(value)) return value.map((item) => replaceSealed(item, replacement));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, replaceSealed(item, replacement)]));
}

/**
 * Every sealed value below a record whose place is `prefix` (`connection/<id>`, `admin/<id>`, `server_config`): field names
 * joined by slashes; an item of a list goes by its `client_id`, `id` or `name`, so that its place survives another order.
 */
export function secretsIn(value: unknown, prefix: string): SecretAt[] {
  if (isSealed(value)) return [{ place: prefix, sealed: value.$sealed }];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]: [string, unknown]) =>
    typeof item === 'object' && item !== null
      ? secretsIn(item, `${prefix}/${Array.isArray(value) ? itemName(item, key) : key}`)
      : [],
  );
}

function itemName(item: object, index: string): string {
  const { client_id, id, name } = item as { client_id?: unknown; id?: unknown; name?: unknown };
  return [client_id, id, name].find((candidate) => typeof candidate === 'string') ?? index;
}

/** The id of the key that sealed a value. */
export const keyOf = (sealed: string): string => sealed.split('.')[1] ?? 'unknown';
