import { compileSearch } from '#core/lib/text/search.ts';
import { createMemo, createSignal, type JSX, Show } from 'solid-js';
import { Breakable } from '#ui/src/components/show/breakable.tsx';
import { Badge } from '#ui/src/components/badge.tsx';
import { NoCalls } from './no-calls.tsx';
import { SegmentedControl } from '#ui/src/components/form/choice.tsx';
import { DataTable, type Column } from '#ui/src/components/table/data-table.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { FilterBar } from '#ui/src/components/table/filter-bar.tsx';
import { Link } from '#ui/src/components/link.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import {
  type CallerFilter,
  callsFilter,
  callsHref,
  callsRange,
  type Kind,
  KINDS,
  type Range,
  type UsageRow,
} from '#ui/src/kernel/metrics.ts';
import { count, percent } from '#ui/src/kernel/numbers.ts';
import type { Selection } from '#ui/src/kernel/selection.ts';
import { bytes, capital, duration } from '#ui/src/kernel/words.ts';

interface UsageTableProps {
  rows: readonly UsageRow[] | undefined;
  range: Range;
  filter: CallerFilter;
  current: string;
  selection: Selection;
  onOpen: (row: UsageRow) => void;
  actions: JSX.Element;
}

/** Every tool, resource and prompt that was called, sortable by each metric; the most called stands first. */
export function UsageTable(props: UsageTableProps) {
  const [kind, setKind] = createSignal<Kind | 'all'>('all');
  const [search, setSearch] = createSignal('');
  const shown = createMemo(() => {
    const matches = compileSearch(search());
    return props.rows
      ?.filter((row) => (kind() === 'all' || row.kind === kind()) && matches(row.name))
      .toSorted((a, b) => b.calls - a.calls);
  });
  const columns: Column<UsageRow>[] = [
    {
      id: 'name',
      head: 'Name',
      sort: ({ name }) => name,
      cell: (row) => (
        <span class="inline-row metrics-name">
          <span class="mono long-name" title={row.name}>
            <Breakable text={row.name} />
          </span>
          <Show when={row.kind !== 'tool'}>
            <Badge>{capital(row.kind)}</Badge>
          </Show>
        </span>
      ),
    },
    { id: 'calls', head: 'Calls', num: ({ calls }) => calls, as: count },
    {
      id: 'errors',
      head: 'Errors',
      align: 'end',
      sort: ({ errors }) => errors,
      cell: (row) => (
        <Show when={row.errors > 0} fallback={<span class="faint">0</span>}>
          <Show when={callsFilter(props.filter)} fallback={<span class="metrics-bad">{count(row.errors)}</span>}>
            {(whose) => (
              <Link
                class="metrics-bad"
                href={callsHref({ kind: row.kind, name: row.name, outcome: 'failed', ...whose(), ...callsRange(props.range) })}
              >
                {count(row.errors)}
              </Link>
            )}
          </Show>
        </Show>
      ),
    },
    { id: 'rate', head: 'Error rate', narrow: 'medium', num: ({ error_rate }) => error_rate, as: percent },
    ...(['p50_ms', 'p95_ms', 'p99_ms'] as const).map((field): Column<UsageRow> => ({
      id: field,
      head: field.slice(0, 3),
      align: 'end',
      sort: (row) => row[field],
      cell: (row) => duration(row[field]),
      ...(field === 'p95_ms' ? {} : { narrow: 'medium' as const }),
    })),
    { id: 'rows', head: 'Rows', narrow: 'wide', num: ({ rows }) => rows, as: count },
    { id: 'bytes', head: 'Sent', narrow: 'medium', num: (row) => row.bytes, as: bytes },
    { id: 'last', head: 'Last call', align: 'end', narrow: 'hide', time: ({ last_called_at }) => last_called_at },
  ];

  return (
    <Panel
      title="Tools, resources and prompts"
      lead="Select a row to see it over time, or tick up to five to compare."
      count={props.rows?.length}
      actions={props.actions}
      flush
    >
      <div class="metrics-filter">
        <FilterBar
          search={{ label: 'Search by name', value: search(), onInput: setSearch }}
          end={
            <SegmentedControl
              label="Kinds"
              value={kind()}
              onChange={setKind}
              options={[
                { value: 'all' as const, label: 'All' },
                ...KINDS.map((value) => ({ value, label: `${capital(value)}s` })),
              ]}
            />
          }
        />
      </div>
      <DataTable
        label="Tools, resources and prompts"
        rows={shown()}
        columns={columns}
        key={({ key }) => key}
        onOpen={props.onOpen}
        current={({ key }) => key === props.current}
        selection={props.selection}
        empty={
          <Show
            when={props.rows?.length === 0}
            fallback={<EmptyState title="No results">Change the search or the period.</EmptyState>}
          >
            <NoCalls />
          </Show>
        }
      />
    </Panel>
  );
}
