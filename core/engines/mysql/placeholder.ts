import type { BoundType } from '#core/lib/sql/result.ts';

/**
 * What makes a boolean and JSON of what is bound: as bare values they are a number and a text, also inside of JSON. MariaDB (10.11) ends with a
 * fault where a JSON column is compared by <=> with JSON_EXTRACT itself, so that stands in another function.
 */
const WRITTEN: Partial<Readonly<Record<string, string>>> = { boolean: '(? = 1)', json: "coalesce(json_extract(?, '$'))" };

export const mysqlPlaceholder = (_number: number, _element: number, type: BoundType): string =>
  (typeof type === 'string' ? WRITTEN[type] : undefined) ?? '?';
