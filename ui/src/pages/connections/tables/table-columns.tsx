import { createMemo, createSignal, Show } from 'solid-js';
import type { Output } from '#core/contract/index.ts';
import { compileSearch } from '#core/lib/text/search.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { Link } from '#ui/src/components/link.tsx';
import { type Column as Head, DataTable } from '#ui/src/components/table/data-table.tsx';
import { FilterBar } from '#ui/src/components/table/filter-bar.tsx';
import type { Query } from '#ui/src/kernel/data/query.ts';
import { type Column, fullName, type Table } from './table-address.ts';

/** With more columns there is a search. */
const MANY = 12;

/** The columns of a table. @param props.hrefOf the table that a foreign key refers to. */
export function TableColumns(props: {
  table: Table;
  columns: Query<Output<'schema.columns'>>;
  hrefOf: (column: Column) => string | undefined;
}) {
  const [find, setFind] = createSignal('');
  const shown = createMemo(() => {
    const matches = compileSearch(find());
    return props.columns.data()?.items.filter(({ name, comment }) => matches(name, comment));
  });
  const has_default = createMemo(() => props.columns.data()?.items.some((column) => column.default !== null));
  const has_comment = createMemo(() => props.columns.data()?.items.some((column) => column.comment !== null));
  const heads = (): Head<Column>[] => [
    {
      id: 'name',
      head: 'Column',
      sort: ({ name }) => name,
      cell: (column) => <ColumnName column={column} href={props.hrefOf(column)} />,
    },
    { id: 'type', head: 'Type', cell: (column) => <ColumnType column={column} /> },
    { id: 'nullable', head: 'Null', width: '4.5rem', cell: (column) => (column.nullable ? 'yes' : 'no') },
    ...(has_default()
      ? [
          {
            id: 'default',
            head: 'Default',
            narrow: 'hide' as const,
            cell: (column: Column) => <span class="mono faint column-default">{column.default}</span>,
          },
        ]
      : []),
    ...(has_comment()
      ? [
          {
            id: 'comment',
            head: 'Comment',
            narrow: 'hide' as const,
            cell: (column: Column) => <span class="column-comment">{column.comment}</span>,
          },
        ]
      : []),
  ];

  return (
    <>
      <Show when={(props.columns.data()?.total ?? 0) > MANY}>
        <FilterBar search={{ label: 'Search columns', value: find(), onInput: setFind }} />
      </Show>
      <DataTable
        label={`Columns of ${fullName(props.table)}`}
        rows={shown()}
        query={props.columns}
        key={(column) => column.name}
        columns={heads()}
        empty={<EmptyState title="No results" />}
      />
    </>
  );
}

/** The database's name of the type, and the values that the type or a check allows. */
function ColumnType(props: { column: Column }) {
  return (
    <>
      <span class="mono">{props.column.type}</span>
      <Show when={props.column.enum}>
        {(values) => <span class="column-values small faint">{values().map(String).join(', ')}</span>}
      </Show>
    </>
  );
}

function ColumnName(props: { column: Column; href: string | undefined }) {
  const target = () => {
    const { references } = props.column;
    return references && `${fullName({ schema: references.schema, name: references.table })}.${references.column}`;
  };
  return (
    <span class="column-name">
      <span class="mono">{props.column.name}</span>
      <Show when={props.column.primary_key}>
        <Badge tone="warning">key</Badge>
      </Show>
      <Show when={target()}>
        {(to) => (
          <Show when={props.href} fallback={<Badge title={`References ${to()}`}>→ {to()}</Badge>}>
            {(href) => (
              <Link href={href()} class="badge" label={`References ${to()}`}>
                → {to()}
              </Link>
            )}
          </Show>
        )}
      </Show>
    </span>
  );
}
