interface Sealed {
  readonly $sealed: string;
}

/** A sealed value with its path, which is the associated data that opens it. */
export interface SecretAt {
  readonly path: string;
  readonly sealed: string;
}

export const isSealed = (value: unknown): value is Sealed =>
  typeof value === 'object' && value !== null && typeof (value as Partial<Sealed>).$sealed === 'string';

/** A reference, stored instead of a secret. */
export const isReference = (value: unknown): value is { readonly ref: string } =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as { ref?: unknown }).ref === 'string' &&
  Object.keys(value).length === 1;

/** Every reference in a value. */
export function referencesIn(value: unknown): string[] {
  if (isReference(value)) return [value.ref];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(referencesIn) : [];
}

/** Returns a copy with every sealed value replaced. */
export function replaceSealed(value: unknown, replacement: (sealed: string) => unknown): unknown {
  if (isSealed(value)) return replacement(value.$sealed);
  if (Array.isArray(value)) return value.map((item) => replaceSealed(item, replacement));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, replaceSealed(item, replacement)]));
}

/**
 * Every sealed value in a record with the path `prefix` (`connection/<id>`, `admin/<id>`, `server_config`). A path joins field names
 * with slashes; an item of a list uses its `client_id`, `id` or `name`, so that its path does not depend on the order.
 */
export function secretsIn(value: unknown, prefix: string): SecretAt[] {
  if (isSealed(value)) return [{ path: prefix, sealed: value.$sealed }];
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
