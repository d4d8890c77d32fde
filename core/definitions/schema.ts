import type { TableFilter } from '#core/engines/shared/source.ts';
import type { Handlers } from '#core/run.ts';
import { connection } from './connections.ts';

export const schemaHandlers: Pick<Handlers, Extract<keyof Handlers, `schema.${string}`>> = {
  'schema.tables': async (context, { connection_id, ...filter }) => {
    const source = await context.app.sources.of(await connection.noun.get(context, connection_id));
    return source.tables(without(filter));
  },
  'schema.columns': async (context, { connection_id, table, ...filter }) => {
    const source = await context.app.sources.of(await connection.noun.get(context, connection_id));
    const dot = table.lastIndexOf('.');
    const named = dot < 1 ? { name: table } : { schema: table.slice(0, dot), name: table.slice(dot + 1) };
    const target = filter.schema === undefined ? named : { schema: filter.schema, name: table };
    return source.columns(target, without(filter));
  },
};

type Filter = { readonly [K in keyof TableFilter]: TableFilter[K] | undefined } & Pick<TableFilter, 'skip' | 'limit'>;

/** Absent rather than undefined. */
const without = ({ skip, limit, schema, search }: Filter): TableFilter => ({
  skip,
  limit,
  ...(schema === undefined ? {} : { schema }),
  ...(search === undefined ? {} : { search }),
});
