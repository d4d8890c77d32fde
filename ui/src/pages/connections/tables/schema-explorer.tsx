import { createEffect, createMemo, on, Show } from 'solid-js';
import type { DbType } from '#core/contract/definitions/connections.ts';
import { compileSearch } from '#core/lib/text/search.ts';
import { Breakable } from '#ui/src/components/show/breakable.tsx';
import { DataTable } from '#ui/src/components/table/data-table.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { FilterBar } from '#ui/src/components/table/filter-bar.tsx';
import { tableKey } from '#ui/src/features/builder/sql/table-address.ts';
import { Panel } from '#ui/src/components/panel.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { useCommands, useKernel } from '#ui/src/kernel/kernel.ts';
import { createTableAddress, fullName, type Table } from './table-address.ts';
import { TableDetail } from './table-detail.tsx';
import './tables.css';

/** The tables of a database; columns, indexes and rows of the selected one. */
export function SchemaExplorer(props: { connection_id: string; db_type: DbType }) {
  const { router } = useKernel();
  const address = createTableAddress(router);
  const { params } = address;
  const tables = useQuery((read) => read('schema.tables', { connection_id: props.connection_id }));
  let search: HTMLInputElement | undefined;
  useCommands([{ id: 'find-table', title: 'Search tables', group: 'This page', key: '/', run: () => search?.focus() }]);

  const shown = createMemo(() => {
    const matches = compileSearch(params.get('find'));
    return tables.data()?.items.filter((table) => matches(fullName(table), table.comment));
  });
  const chosen = () => tables.data()?.items.find(address.isChosen);
  let details: HTMLDivElement | undefined;
  // Scrolls to the columns, which start above a scrolled list, or below the list on a small screen.
  const reveal = () => {
    const top = details?.getBoundingClientRect().top ?? 0;
    if (top < 0 || top > window.innerHeight / 2) details?.scrollIntoView({ block: 'start' });
  };
  createEffect(on(() => params.get('schema') + params.get('table'), reveal, { defer: true }));
  // Each cell is drawn again when the columns change, which every other part of the address must not cause.
  const shows_rows = createMemo(() => params.get('show') === 'rows');
  const several = () => new Set(tables.data()?.items.map(({ schema }) => schema)).size > 1;

  return (
    <div class="page-columns explorer" data-show={params.get('show')}>
      <Panel title="Tables" count={tables.data()?.total} flush>
        <FilterBar
          search={{
            label: 'Search tables',
            value: params.get('find'),
            onInput: (find) => params.set({ find }),
            ref: (input) => {
              search = input;
            },
          }}
        />
        <DataTable
          label="Tables"
          rows={shown()}
          query={tables}
          key={tableKey}
          current={address.isChosen}
          href={address.href}
          height="60vh"
          columns={[
            {
              id: 'name',
              head: 'Name',
              sort: fullName,
              cell: (table) => (
                <span class="mono long-name">
                  <Breakable text={several() ? fullName(table) : table.name} />
                </span>
              ),
            },
            // The rows of the table need the width.
            ...(shows_rows() ? [] : [{ id: 'type', head: 'Kind', width: '6rem', text: (table: Table) => table.type }]),
          ]}
          empty={<EmptyState title={params.get('find') === '' ? 'This user can’t see any table or view.' : 'No results'} />}
        />
      </Panel>
      <div ref={(element) => (details = element)} class="explorer-columns">
        <Show
          when={chosen()}
          keyed
          fallback={
            <Panel title="Columns" flush>
              <EmptyState icon="columns" title="Select a table to see its columns and rows." />
            </Panel>
          }
        >
          {(table) => (
            <TableDetail
              connection_id={props.connection_id}
              db_type={props.db_type}
              table={table}
              tables={tables.data()?.items ?? []}
              address={address}
            />
          )}
        </Show>
      </div>
    </div>
  );
}
