import type { Table } from '#core/contract/definitions/schema.ts';

export type TableAddress = Pick<Table, 'schema' | 'name'>;

/** The page of a new tool from a table: schema and table are apart, since either name may contain dots. */
export function newToolHref(connection_id: string, { schema, name }: TableAddress): string {
  const query = new URLSearchParams({ connection: connection_id, ...(schema === null ? {} : { schema }), table: name });
  return `/tools/new?${query}`;
}

/**
 * The table that an address names; of several the one that needs no schema. An older address has schema and table in one, and either
 * name may contain dots: a table of the whole name comes first, then each way to read `schema.table`.
 */
export async function findTable<T extends TableAddress & Pick<Table, 'in_path'>>(
  tablesLike: (address: TableAddress) => Promise<readonly T[]>,
  { schema, name }: TableAddress,
): Promise<T | undefined> {
  const dots = schema === null ? [...name.matchAll(/(?<=.)\.(?=.)/g)].map(({ index }) => index) : [];
  const parts = dots.slice(0, MOST_DOTS).map((at) => ({ schema: name.slice(0, at), name: name.slice(at + 1) }));
  for (const address of [{ schema, name }, ...parts]) {
    const named = (await tablesLike(address)).filter((table) => table.name === address.name);
    const found = named.find(({ in_path }) => in_path) ?? named[0];
    if (found !== undefined) return found;
  }
  return undefined;
}

/** More are no name that a person would write in the short form. */
const MOST_DOTS = 4;

/** Differs for any two tables, which the names that people read may not. */
export const tableKey = ({ schema, name }: TableAddress): string => JSON.stringify([schema, name]);
