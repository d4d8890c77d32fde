import { createEffect, createMemo, createSignal, For, on, Show } from 'solid-js';
import type { DbType } from '#core/contract/definitions/connections.ts';
import { Button } from '#ui/src/components/button.tsx';
import { EmptyState, NoResults } from '#ui/src/components/empty-state.tsx';
import { passesFocus } from '#ui/src/components/form/passes-focus.ts';
import { Icon } from '#ui/src/components/icon.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import {
  countQuery,
  OPERATORS,
  PAGE_ROWS,
  type RowFilter,
  type RowQuery,
  rowQuery,
  takesValue,
} from '#ui/src/features/builder/sql/row-query.ts';
import { dialectOf } from '#ui/src/features/builder/sql/scan.ts';
import { ResultGrid } from '#ui/src/features/run/result-grid.tsx';
import { createRunner } from '#ui/src/features/run/runner.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { num } from '#ui/src/kernel/numbers.ts';
import { plural } from '#ui/src/kernel/words.ts';
import { FilterForm } from './filter-form.tsx';
import { type Column, fullName, type Table, type TableAddress } from './table-address.ts';
import '#ui/src/features/run/result.css';

/** The rows of a table, page by page, with filters and an order that are in the address. */
export function TableRows(props: {
  connection_id: string;
  db_type: DbType;
  table: Table;
  columns: readonly Column[];
  /** The table that a foreign key refers to. */
  targetOf: (column: Column) => Table | undefined;
  address: TableAddress;
}) {
  const { call } = useKernel();
  const params = () => props.address.params;
  const source = () => ({ table: props.table, columns: props.columns, dialect: dialectOf(props.db_type) });
  const run = ({ sql_query, definitions, values: parameters }: RowQuery, signal: AbortSignal) => {
    const sent = definitions.length === 0 ? {} : { definitions, parameters };
    return call('preview.execute', { connection_id: props.connection_id, sql_query, limit: PAGE_ROWS + 1, ...sent }, signal);
  };
  const rows = createRunner(run);
  const total = createRunner(run);
  const order = () =>
    params().get('sort') === '' ? undefined : { column: params().get('sort'), down: params().get('down') === true };
  const page = () => Math.max(1, params().get('page'));
  const query = createMemo(() => rowQuery(source(), { filters: props.address.filters(), order: order(), page: page() }));
  const count = createMemo(() => countQuery(source(), props.address.filters()));
  const keyOf = ({ sql_query, values }: RowQuery) => sql_query + JSON.stringify(values);
  /** What the number was counted of. */
  const [counted, setCounted] = createSignal('');
  createEffect(
    on(
      createMemo(() => keyOf(query())),
      () => query().fault === undefined && void rows.run(query()),
    ),
  );
  const countRows = () => {
    setCounted(keyOf(count()));
    return total.run(count());
  };

  const shown = createMemo(() => {
    const result = rows.result();
    return result && { ...result, rows: result.rows.slice(0, PAGE_ROWS) };
  });
  const first = () => (page() - 1) * PAGE_ROWS + 1;
  const range = () => `Rows ${num(first())}–${num(first() + (shown()?.rows.length ?? 1) - 1)}`;
  const is_cut = () => rows.result()?.truncated === true && (shown()?.rows.length ?? 0) < PAGE_ROWS;
  const sum = () => {
    const value = counted() === keyOf(count()) ? Object.values(total.result()?.rows[0] ?? {})[0] : undefined;
    if (value === undefined) return '';
    return props.address.filters().length === 0 ? plural(Number(value), 'row') : plural(Number(value), 'matching row');
  };
  const hrefOf = (name: string, value: unknown) => {
    const column = value === null ? undefined : props.columns.find((one) => one.name === name);
    const target = column && props.targetOf(column);
    return target && column.references && props.address.hrefOfRow(target, column.references.column, value);
  };

  return (
    <div class="panel-body stack">
      <FilterForm
        columns={props.columns}
        db_type={props.db_type}
        onAdd={(filter) => props.address.setFilters([...props.address.filters(), filter])}
      />
      <Show when={props.address.filters().length > 0}>
        <FilterList address={props.address} />
      </Show>
      <Show when={query().fault}>{(fault) => <Notice tone="warning">{fault()} Remove this filter to see rows.</Notice>}</Show>
      <Show when={query().fault === undefined}>
        <Show when={rows.problem()}>{(problem) => <Notice tone="bad">{problem().detail}</Notice>}</Show>
        <Show
          when={shown()}
          fallback={
            <Show when={rows.busy()}>
              <SkeletonList rows={6} label="Loading the rows" />
            </Show>
          }
        >
          {(result) => (
            <Show when={result().rows.length > 0} fallback={<NoRows address={props.address} page={page()} />}>
              <div class="result" aria-busy={rows.busy()}>
                <ResultGrid
                  label={`Rows of ${fullName(props.table)}`}
                  table={{ columns: result().columns, types: result().column_types, rows: result().rows }}
                  order={{
                    sort: order(),
                    onSort: (next) => params().set({ sort: next?.column ?? '', down: next?.down || undefined, page: 1 }),
                    isSortable: (name) => props.columns.some((column) => column.name === name && column.sortable),
                  }}
                  hrefOf={hrefOf}
                />
              </div>
              <Show when={is_cut()}>
                <Notice tone="plain">
                  These rows are too large to show all {PAGE_ROWS} of this page. Filter them, or write a tool with fewer columns.
                </Notice>
              </Show>
            </Show>
          )}
        </Show>
        <div class="row">
          <span class="small soft num" role="status">
            <Show when={(shown()?.rows.length ?? 0) > 0}>{range()}</Show>
          </span>
          <Button size="small" blocked={page() === 1} onPress={() => params().set({ page: page() - 1 })}>
            Previous
          </Button>
          <Button
            size="small"
            blocked={(rows.result()?.rows.length ?? 0) <= PAGE_ROWS}
            onPress={() => params().set({ page: page() + 1 })}
          >
            Next
          </Button>
          <span class="small soft num table-rows-count" role="status">
            {sum()}
          </span>
          <Button size="small" busy={total.busy()} onPress={countRows}>
            {props.address.filters().length === 0 ? 'Count rows' : 'Count matching rows'}
          </Button>
        </div>
        <Show when={total.problem()}>{(problem) => <Notice tone="bad">{problem().detail}</Notice>}</Show>
      </Show>
    </div>
  );
}

const wordsOf = ({ column, operator, value }: RowFilter): string =>
  `${column} ${OPERATORS[operator]}${takesValue(operator) ? ` ${value === '' ? '“”' : value}` : ''}`;

function FilterList(props: { address: TableAddress }) {
  const remove = (at: number) => props.address.setFilters(props.address.filters().filter((_, n) => n !== at));
  return (
    <div class="row" role="group" aria-label="Filters">
      <For each={props.address.params.get('where').map((_, at) => at)}>
        {(at) => (
          <Show when={props.address.filters()[at]}>
            {(filter) => (
              <span class="tag" ref={passesFocus}>
                {wordsOf(filter())}
                <button type="button" aria-label={`Remove filter: ${wordsOf(filter())}`} onClick={() => remove(at)}>
                  <Icon name="close" size={10} />
                </button>
              </span>
            )}
          </Show>
        )}
      </For>
      <Button kind="quiet" size="small" onPress={() => props.address.setFilters([])}>
        Clear filters
      </Button>
    </div>
  );
}

function NoRows(props: { address: TableAddress; page: number }) {
  return (
    <Show
      when={props.page === 1}
      fallback={
        <EmptyState
          title="There are no more rows."
          action={<Button onPress={() => props.address.params.set({ page: 1 })}>First page</Button>}
        />
      }
    >
      <Show when={props.address.filters().length > 0} fallback={<EmptyState icon="table" title="This table has no rows." />}>
        <NoResults onClear={() => props.address.setFilters([])} />
      </Show>
    </Show>
  );
}
