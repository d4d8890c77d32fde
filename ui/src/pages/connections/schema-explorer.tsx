import { createEffect, createMemo, createSignal, Match, on, Show, Switch } from 'solid-js';
import type { Output } from '#core/contract/index.ts';
import { isFound } from '#core/lib/text/search.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { Breakable } from '#ui/src/components/show/breakable.tsx';
import { CopyButton } from '#ui/src/components/show/code-block.tsx';
import { DataTable } from '#ui/src/components/table/data-table.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { FilterBar } from '#ui/src/components/table/filter-bar.tsx';
import { newToolHref, tableKey } from '#ui/src/features/builder/sql/table-address.ts';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { useCommands, useKernel } from '#ui/src/kernel/kernel.ts';
import { createSearchParams, text } from '#ui/src/kernel/route/search-params.ts';
import { TableSample } from './table-sample.tsx';

type Table = Output<'schema.tables'>['items'][number];
type Column = Output<'schema.columns'>['items'][number];

const fullName = (table: Pick<Table, 'schema' | 'name'>): string =>
  table.schema === null ? table.name : `${table.schema}.${table.name}`;

/** The tables of a database and the columns of the chosen one. */
export function SchemaExplorer(props: { connection_id: string }) {
  const { router } = useKernel();
  const place = createSearchParams(router, { schema: text(), table: text(), find: text() });
  const tables = useQuery((read) => read('schema.tables', { connection_id: props.connection_id }));
  let search: HTMLInputElement | undefined;
  useCommands([{ id: 'find-table', title: 'Search tables', group: 'This page', key: '/', run: () => search?.focus() }]);

  const shown = createMemo(() =>
    tables.data()?.items.filter((table) => isFound(place.get('find'), fullName(table), table.comment)),
  );
  const isChosen = ({ schema, name }: Table) => name === place.get('table') && (schema ?? '') === place.get('schema');
  const chosen = () => tables.data()?.items.find(isChosen);
  let details: HTMLDivElement | undefined;
  // Its columns begin above a long list that was scrolled, and below the list on a small screen.
  const reveal = () => {
    const top = details?.getBoundingClientRect().top ?? 0;
    if (top < 0 || top > window.innerHeight / 2) details?.scrollIntoView({ block: 'start' });
  };
  createEffect(on(() => place.get('schema') + place.get('table'), reveal, { defer: true }));
  const several = () => new Set(tables.data()?.items.map(({ schema }) => schema)).size > 1;

  return (
    <div class="page-columns explorer">
      <Panel title="Tables" count={tables.data()?.total} flush>
        <FilterBar
          search={{
            label: 'Search tables',
            value: place.get('find'),
            onInput: (find) => place.set({ find }),
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
          current={isChosen}
          href={({ schema, name }) => place.href({ schema: schema ?? '', table: name })}
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
            { id: 'type', head: 'Kind', width: '6rem', text: (table) => table.type },
          ]}
          empty={<EmptyState title={place.get('find') === '' ? 'This user can’t see any table or view.' : 'No results'} />}
        />
      </Panel>
      <div ref={(element) => (details = element)} class="explorer-columns">
        <Show
          when={chosen()}
          keyed
          fallback={
            <Panel title="Columns" flush>
              <EmptyState icon="columns" title="Select a table to see its columns." />
            </Panel>
          }
        >
          {(table) => <TableColumns connection_id={props.connection_id} table={table} />}
        </Show>
      </div>
    </div>
  );
}

function TableColumns(props: { connection_id: string; table: Table }) {
  const { session } = useKernel();
  const [find, setFind] = createSignal('');
  const columns = useQuery((read) =>
    read('schema.columns', {
      connection_id: props.connection_id,
      table: props.table.name,
      ...(props.table.schema === null ? {} : { schema: props.table.schema }),
    }),
  );
  const shown = () => columns.data()?.items.filter(({ name, comment }) => isFound(find(), name, comment));
  const tool_href = () => newToolHref(props.connection_id, props.table);

  return (
    <Panel
      title={fullName(props.table)}
      count={columns.data()?.total}
      lead={props.table.comment}
      actions={
        <>
          <CopyButton text={fullName(props.table)} label="the name of the table" />
          <LinkButton href={tool_href()} kind="primary" icon="tool">
            Create a tool from this table
          </LinkButton>
        </>
      }
      flush
    >
      <Show when={(columns.data()?.total ?? 0) > 12}>
        <FilterBar search={{ label: 'Search columns', value: find(), onInput: setFind }} />
      </Show>
      <DataTable
        label={`Columns of ${fullName(props.table)}`}
        rows={shown()}
        query={columns}
        key={(column) => column.name}
        columns={[
          { id: 'name', head: 'Column', sort: ({ name }) => name, cell: (column) => <ColumnName column={column} /> },
          { id: 'type', head: 'Type', cell: (column) => <ColumnType column={column} /> },
          { id: 'nullable', head: 'Null', width: '4.5rem', cell: (column) => (column.nullable ? 'yes' : 'no') },
          { id: 'default', head: 'Default', narrow: 'hide', cell: (column) => <span class="mono faint">{column.default}</span> },
          {
            id: 'comment',
            head: 'Comment',
            narrow: 'hide',
            cell: (column) => <span class="column-comment">{column.comment}</span>,
          },
        ]}
        empty={<EmptyState title="No results" />}
      />
      <Show when={session.may('preview.execute')}>
        <TableSample connection_id={props.connection_id} table={props.table} />
      </Show>
    </Panel>
  );
}

/** The database's own name of the type, and the values that the type or a check allows. */
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

function ColumnName(props: { column: Column }) {
  const target = () => {
    const { references } = props.column;
    return references && `${fullName({ schema: references.schema, name: references.table })}.${references.column}`;
  };
  return (
    <span class="column-name">
      <span class="mono">{props.column.name}</span>
      <Switch>
        <Match when={props.column.primary_key}>
          <Badge tone="warning">key</Badge>
        </Match>
        <Match when={target()}>{(to) => <Badge title={`References ${to()}`}>→ {to()}</Badge>}</Match>
      </Switch>
    </span>
  );
}
