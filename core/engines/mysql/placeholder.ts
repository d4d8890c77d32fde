import type { BoundType } from '../shared/source.ts';

/** What makes a boolean and JSON of what is bound: as bare values they are a number and a text, also inside of JSON. */
const WRITTEN: Partial<Readonly<Record<string, string>>> = { boolean: '(? = 1)', json: "json_extract(?, '$')" };

export const mysqlPlaceholder = (_number: number, _element: number, type: BoundType): string =>
  (typeof type === 'string' ? WRITTEN[type] : undefined) ?? '?';
