import { Show } from 'solid-js';
import type { DbType } from '#core/contract/definitions/connections.ts';
import { SegmentedControl } from '#ui/src/components/form/choice.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Failed } from '#ui/src/components/notice.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { CopyButton } from '#ui/src/components/show/code-block.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { newToolHref } from '#ui/src/features/builder/sql/table-address.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { fullName, referredTable, type Column, type Table, type TableAddress } from './table-address.ts';
import { TableColumns } from './table-columns.tsx';
import { TableIndexes } from './table-indexes.tsx';
import { TableRows } from './table-rows.tsx';

/** One table: its columns and indexes, or its rows. */
export function TableDetail(props: {
  connection_id: string;
  db_type: DbType;
  table: Table;
  tables: readonly Table[];
  address: TableAddress;
}) {
  const { session } = useKernel();
  const params = () => props.address.params;
  const of = () => ({
    connection_id: props.connection_id,
    table: props.table.name,
    ...(props.table.schema === null ? {} : { schema: props.table.schema }),
  });
  const columns = useQuery((read) => read('schema.columns', of()));
  const may_read = () => session.may('preview.execute');
  const shows_rows = () => may_read() && params().get('show') === 'rows';
  const targetOf = ({ references }: Column) => references && referredTable(props.tables, references);
  const hrefOf = (column: Column) => {
    const target = targetOf(column);
    return target && props.address.href(target);
  };

  return (
    <Panel
      title={fullName(props.table)}
      lead={props.table.comment}
      actions={
        <>
          <CopyButton text={fullName(props.table)} label="the name of the table" />
          <LinkButton href={newToolHref(props.connection_id, props.table)} kind="primary" icon="tool">
            Create a tool from this table
          </LinkButton>
        </>
      }
      flush
    >
      <Show when={may_read()}>
        <div class="table-views">
          <SegmentedControl
            label="Show of this table"
            value={params().get('show')}
            onChange={(show) => params().set({ show })}
            options={[
              { value: 'columns', label: 'Columns' },
              { value: 'rows', label: 'Rows' },
            ]}
          />
        </div>
      </Show>
      <Show
        when={shows_rows()}
        fallback={
          <>
            <TableColumns table={props.table} columns={columns} hrefOf={hrefOf} />
            <TableIndexes table={props.table} input={of()} />
          </>
        }
      >
        <Failed of={columns} />
        <Show when={columns.data()}>
          {(found) => (
            <TableRows
              connection_id={props.connection_id}
              db_type={props.db_type}
              table={props.table}
              columns={found().items}
              targetOf={targetOf}
              address={props.address}
            />
          )}
        </Show>
      </Show>
    </Panel>
  );
}
