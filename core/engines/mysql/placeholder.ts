import type { BoundType } from '#core/lib/sql/result.ts';

/**
 * Converts bound values to a boolean and to JSON. The bare values are a number and a text, inside JSON too. MariaDB (10.11) fails
 * when a JSON column is compared with JSON_EXTRACT by <=>, so that call is wrapped in another function.
 */
const WRITTEN: Partial<Readonly<Record<string, string>>> = { boolean: '(? = 1)', json: "coalesce(json_extract(?, '$'))" };

export const mysqlPlaceholder = (_number: number, _element: number, type: BoundType): string =>
  (typeof type === 'string' ? WRITTEN[type] : undefined) ?? '?';
