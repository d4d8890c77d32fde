import type { TableFilter, TableName } from '#core/engines/shared/source.ts';
import { noTable } from '#core/engines/shared/rows.ts';
import { AppError } from '#core/errors.ts';
import type { Handlers } from '#core/context/context.ts';
import { connection } from './connections.ts';

export const schemaHandlers: Pick<Handlers, Extract<keyof Handlers, `schema.${string}`>> = {
  'schema.tables': async (context, { connection_id, ...filter }) => {
    const source = await context.app.sources.of(await connection.noun.get(context, connection_id));
    return source.tables(without(filter));
  },
  'schema.columns': async (context, { connection_id, table, ...filter }) => {
    const source = await context.app.sources.of(await connection.noun.get(context, connection_id));
    return ofTable(table, filter.schema, (name) => source.columns(name, without(filter)));
  },
  'schema.indexes': async (context, { connection_id, table, schema }) => {
    const source = await context.app.sources.of(await connection.noun.get(context, connection_id));
    const items = await ofTable(table, schema, (name) => source.indexes(name));
    return { items, total: items.length };
  },
};

/**
 * Reads the named table. Names can contain dots, so without a schema a table with the whole name is tried first, then each way to
 * read `schema.table`.
 */
async function ofTable<T>(text: string, schema: string | undefined, read: (table: TableName) => Promise<T>): Promise<T> {
  if (schema !== undefined) return read({ schema, name: text });
  const dots = [...text.matchAll(/\./g)].map(({ index }) => index).filter((at) => at > 0 && at < text.length - 1);
  const ways = dots.slice(0, MAX_DOTS).map((at) => ({ schema: text.slice(0, at), name: text.slice(at + 1) }));
  for (const target of [{ name: text }, ...ways]) {
    try {
      return await read(target);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'not_found') throw error;
    }
  }
  throw noTable();
}

/** Dots at which a name is split. People do not write more. */
const MAX_DOTS = 4;

type Filter = { readonly [K in keyof TableFilter]: TableFilter[K] | undefined } & Pick<TableFilter, 'skip' | 'limit'>;

/** Omits undefined fields. */
const without = ({ skip, limit, schema, search }: Filter): TableFilter => ({
  skip,
  limit,
  ...(schema === undefined ? {} : { schema }),
  ...(search === undefined ? {} : { search }),
});
