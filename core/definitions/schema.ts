import type { Source, TableFilter } from '#core/engines/shared/source.ts';
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
    if (filter.schema !== undefined) return source.columns({ schema: filter.schema, name: table }, without(filter));
    return columnsOfShortForm(source, table, without(filter));
  },
};

/** Names may contain dots: a table of the whole name comes first, then each way to read `schema.table`. */
async function columnsOfShortForm(source: Source, text: string, filter: TableFilter): ReturnType<Source['columns']> {
  const dots = [...text.matchAll(/\./g)].map(({ index }) => index).filter((at) => at > 0 && at < text.length - 1);
  const ways = dots.slice(0, MOST_DOTS).map((at) => ({ schema: text.slice(0, at), name: text.slice(at + 1) }));
  for (const target of [{ name: text }, ...ways]) {
    try {
      return await source.columns(target, filter);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'not_found') throw error;
    }
  }
  throw noTable();
}

/** More are no name that a person would write in the short form. */
const MOST_DOTS = 4;

type Filter = { readonly [K in keyof TableFilter]: TableFilter[K] | undefined } & Pick<TableFilter, 'skip' | 'limit'>;

/** Absent rather than undefined. */
const without = ({ skip, limit, schema, search }: Filter): TableFilter => ({
  skip,
  limit,
  ...(schema === undefined ? {} : { schema }),
  ...(search === undefined ? {} : { search }),
});
