import type { Table } from '#core/contract/definitions/schema.ts';

export type TableAddress = Pick<Table, 'schema' | 'name'>;

/** The page of a new tool from a table: schema and table are apart, since either name may contain dots. */
export function newToolHref(connection_id: string, { schema, name }: TableAddress): string {
  const query = new URLSearchParams({ connection: connection_id, ...(schema === null ? {} : { schema }), table: name });
  return `/tools/new?${query}`;
}

/** Differs for any two tables, which the names that people read may not. */
export const tableKey = ({ schema, name }: TableAddress): string => JSON.stringify([schema, name]);
