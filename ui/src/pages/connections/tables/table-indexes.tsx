import { createMemo, Show } from 'solid-js';
import type { TableIndex } from '#core/contract/definitions/schema.ts';
import type { RawInput } from '#core/contract/index.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { type Column as Head, DataTable } from '#ui/src/components/table/data-table.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { fullName, type Table } from './table-address.ts';

/** The indexes of a table. A view without any has no heading. */
export function TableIndexes(props: { table: Table; input: RawInput<'schema.indexes'> }) {
  const indexes = useQuery((read) => read('schema.indexes', props.input));
  const items = () => indexes.data()?.items;
  const has_type = createMemo(() => items()?.some(({ type }) => type !== null));
  const has_condition = createMemo(() => items()?.some(({ condition }) => condition !== null));
  const heads = (): Head<TableIndex>[] => [
    {
      id: 'name',
      head: 'Index',
      cell: (index) => (
        <span class="column-name">
          <span class="mono long-name">{index.name}</span>
          <Show when={index.primary_key} fallback={index.unique && <Badge tone="info">unique</Badge>}>
            <Badge tone="warning">key</Badge>
          </Show>
        </span>
      ),
    },
    { id: 'columns', head: 'Columns', cell: (index) => <span class="mono column-comment">{index.columns.join(', ')}</span> },
    ...(has_type() ? [{ id: 'type', head: 'Type', narrow: 'hide' as const, text: (index: TableIndex) => index.type ?? '' }] : []),
    ...(has_condition()
      ? [
          {
            id: 'condition',
            head: 'Condition',
            narrow: 'hide' as const,
            cell: (index: TableIndex) => (
              <Show when={index.condition} fallback={<span class="faint">all</span>}>
                <span class="mono column-comment">{index.condition}</span>
              </Show>
            ),
          },
        ]
      : []),
  ];

  return (
    <Show when={items()?.length !== 0 || !props.table.type.includes('view')}>
      <section class="table-indexes" aria-label="Indexes">
        <h3>Indexes</h3>
        <DataTable
          label={`Indexes of ${fullName(props.table)}`}
          rows={items()}
          query={indexes}
          key={(index) => index.name}
          columns={heads()}
          empty={<p class="soft small">No indexes.</p>}
        />
      </section>
    </Show>
  );
}
