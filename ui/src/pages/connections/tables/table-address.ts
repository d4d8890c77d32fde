import type { Output } from '#core/contract/index.ts';
import { isOperator, type RowFilter } from '#ui/src/features/builder/sql/row-query.ts';
import { writeEntry } from '#ui/src/features/run/arguments.ts';
import type { Router } from '#ui/src/kernel/route/router.ts';
import { createSearchParams, flag, many, oneOf, text, whole } from '#ui/src/kernel/route/search-params.ts';

export type Table = Output<'schema.tables'>['items'][number];
export type Column = Output<'schema.columns'>['items'][number];

export const fullName = (table: Pick<Table, 'schema' | 'name'>): string =>
  table.schema === null ? table.name : `${table.schema}.${table.name}`;

/** The table of an address, and the rows that are chosen of it. */
export function createTableAddress(router: Pick<Router, 'query' | 'setQuery' | 'hrefWith'>) {
  const params = createSearchParams(router, {
    schema: text(),
    table: text(),
    find: text(),
    show: oneOf(['columns', 'rows']),
    where: many(),
    sort: text(),
    down: flag(),
    page: whole(1),
  });
  const rows = { where: [], sort: '', down: undefined, page: 1 };
  const of = ({ schema, name }: Pick<Table, 'schema' | 'name'>) => ({ schema: schema ?? '', table: name, ...rows });
  return {
    params,
    isChosen: ({ schema, name }: Table) => name === params.get('table') && (schema ?? '') === params.get('schema'),
    href: (table: Table) => params.href(of(table)),
    /** The rows of a table that have this value in a column. */
    hrefOfRow: (table: Table, column: string, value: unknown) =>
      params.href({
        ...of(table),
        show: 'rows',
        where: [writeFilter({ column, operator: 'is', value: writeEntry(value) ?? '' })],
      }),
    filters: () => params.get('where').flatMap(readFilter),
    setFilters: (filters: readonly RowFilter[]) => params.set({ where: filters.map(writeFilter), page: 1 }),
  };
}
export type TableAddress = ReturnType<typeof createTableAddress>;

/** The table that a foreign key refers to. Names differ in case on SQLite. */
export function referredTable(tables: readonly Table[], references: NonNullable<Column['references']>): Table | undefined {
  const beside = tables.filter(({ schema }) => schema === references.schema);
  const lower = references.table.toLowerCase();
  return beside.find(({ name }) => name === references.table) ?? beside.find(({ name }) => name.toLowerCase() === lower);
}

const writeFilter = ({ column, operator, value }: RowFilter): string =>
  `${operator}:${column.replaceAll('%', '%25').replaceAll(':', '%3A')}:${value}`;

function readFilter(written: string): RowFilter[] {
  const [operator = '', column = '', ...rest] = written.split(':');
  if (!isOperator(operator)) return [];
  return [{ operator, column: column.replaceAll('%3A', ':').replaceAll('%25', '%'), value: rest.join(':') }];
}
