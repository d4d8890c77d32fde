import { createMemo, createSignal, For, Show } from 'solid-js';
import type { Table, TableColumn } from '#core/contract/definitions/schema.ts';
import { isFound } from '#core/lib/text/search.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button, IconButton } from '#ui/src/components/button.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { Loaded } from '#ui/src/components/show/loaded.tsx';
import { LoadMore } from '#ui/src/components/table/load-more.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { count } from '#ui/src/kernel/numbers.ts';
import { columnIn, withJoin } from '../sql/joins.ts';
import { qualifiedName } from '../sql/completion.ts';
import type { TableAddress } from '../sql/table-address.ts';
import type { StatementDraft } from '../statement-draft.ts';
import './schema.css';

/** More take long to draw; the search finds the rest. */
const SHOWN = 100;

/** Tables and columns of the connection; a click writes a name into the statement. */
export function SchemaPane(props: { draft: StatementDraft }) {
  const connection_id = () => props.draft.form.values.connection_id;
  const [find, setFind] = createSignal('');
  const [most, setMost] = createSignal(SHOWN);
  const tables = useQuery(
    async (read) => (connection_id() === '' ? [] : (await read('schema.tables', { connection_id: connection_id() })).items),
    { watch: connection_id },
  );
  const found = createMemo(() =>
    (tables.data() ?? []).filter(({ schema, name, comment }) => isFound(find(), `${schema ?? ''}.${name}`, comment)),
  );
  const nameOf = (address: TableAddress) => {
    const known = tables.data()?.find(({ schema, name }) => schema === address.schema && name === address.name);
    return qualifiedName(known ?? { ...address, in_path: address.schema === null }, props.draft.statement.dialect());
  };
  return (
    <div class="stack" data-gap="3">
      <TextField label="Search tables" hide_label placeholder="Search tables" type="search" value={find()} onInput={setFind} />
      <Loaded of={tables} rows={6} label="Loading the tables">
        {() => (
          <Show
            when={found().length > 0}
            fallback={
              <EmptyState
                icon="columns"
                title={
                  connection_id() === ''
                    ? 'Choose a connection to see its tables.'
                    : find() === ''
                      ? 'This user can’t see any table or view.'
                      : 'No results'
                }
              />
            }
          >
            <ul class="schema-tables" aria-label="Tables">
              <For each={found().slice(0, most())}>
                {(table) => <TableRow draft={props.draft} table={table} nameOf={nameOf} />}
              </For>
            </ul>
            <LoadMore
              shown={Math.min(most(), found().length)}
              total={found().length}
              busy={false}
              onMore={() => setMost(most() + SHOWN)}
            />
          </Show>
        )}
      </Loaded>
    </div>
  );
}

interface RowProps {
  draft: StatementDraft;
  table: Table;
  nameOf: (table: TableAddress) => string;
}

function TableRow(props: RowProps) {
  const [opened, setOpened] = createSignal(false);
  const name = () => (props.table.in_path || props.table.schema === null ? '' : `${props.table.schema}.`) + props.table.name;
  return (
    <li>
      <div class="schema-row">
        <IconButton
          icon={opened() ? 'up' : 'down'}
          size="small"
          label={`Columns of ${name()}`}
          aria-expanded={opened()}
          onPress={() => setOpened(!opened())}
        />
        <Button
          size="small"
          kind="quiet"
          label={`Insert ${name()}`}
          title={props.table.comment ?? undefined}
          onPress={() => props.draft.statement.insert(props.nameOf(props.table))}
        >
          <span class="mono">{name()}</span>
        </Button>
        <Show when={props.table.estimated_rows}>
          {(rows) => <span class="small faint num">{`about ${count(rows())} rows`}</span>}
        </Show>
      </div>
      <Show when={opened()}>
        <Columns {...props} />
      </Show>
    </li>
  );
}

function Columns(props: RowProps) {
  const columns = useQuery((read) =>
    read('schema.columns', {
      connection_id: props.draft.form.values.connection_id,
      table: props.table.name,
      ...(props.table.schema === null ? {} : { schema: props.table.schema }),
    }),
  );
  return (
    <Loaded of={columns} rows={3} label="Loading the columns">
      {(list) => (
        <ul class="schema-columns" aria-label={`Columns of ${props.table.name}`}>
          <For each={list().items}>{(column) => <ColumnRow {...props} column={column} />}</For>
        </ul>
      )}
    </Loaded>
  );
}

function ColumnRow(props: RowProps & { column: TableColumn }) {
  const sql = () => props.draft.form.values.sql_query;
  const dialect = () => props.draft.statement.dialect();
  const joined = createMemo(() => {
    const { name: column, references } = props.column;
    return references && withJoin(sql(), { table: props.table, column, references }, dialect(), props.nameOf);
  });
  return (
    <li class="schema-row">
      <Button
        size="small"
        kind="quiet"
        label={`Insert ${props.column.name}`}
        title={props.column.comment ?? undefined}
        onPress={() => props.draft.statement.insert(columnIn(sql(), props.table, props.column.name, dialect()))}
      >
        <span class="mono">{props.column.name}</span>
      </Button>
      <span class="mono small faint">{props.column.type}</span>
      <Show when={props.column.primary_key}>
        <Badge tone="warning">key</Badge>
      </Show>
      <Show when={props.column.references}>{(to) => <Badge>{`→ ${to().table}.${to().column}`}</Badge>}</Show>
      <Show when={joined()}>
        {(statement) => (
          <Button
            size="small"
            icon="plus"
            label={`Insert join along ${props.column.name}`}
            onPress={() => props.draft.form.set('sql_query', statement())}
          >
            Insert join
          </Button>
        )}
      </Show>
    </li>
  );
}
