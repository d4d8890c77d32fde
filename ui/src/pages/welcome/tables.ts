import type { Table } from '#core/contract/definitions/schema.ts';

/** Rows count by their magnitude, a relation as much as ten times the rows. */
const weightOf = ({ estimated_rows = 0, relations = 0 }: Table): number => Math.log10(estimated_rows + 1) + relations;

/** The tables that a first tool is most likely about: large ones, and those that others refer to; views come last. */
export const tablesToStartWith = (tables: readonly Table[], most: number): Table[] =>
  tables
    .toSorted((a, b) => Number(/view/.test(a.type)) - Number(/view/.test(b.type)) || weightOf(b) - weightOf(a))
    .slice(0, most);
