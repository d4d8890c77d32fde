import { For, Show } from 'solid-js';
import type { Output } from '#core/contract/index.ts';
import { SegmentedControl } from '#ui/src/components/form/choice.tsx';
import { FilterCombobox } from '#ui/src/components/form/combobox.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { type Column, DataTable } from '#ui/src/components/table/data-table.tsx';
import { FilterBar } from '#ui/src/components/table/filter-bar.tsx';
import { usePages } from '#ui/src/components/use-pages.ts';
import { useFollow } from '#ui/src/components/use-query.ts';
import { exactTime, minuteTime } from '#ui/src/kernel/dates.ts';
import { callerWord } from '#ui/src/kernel/metrics-words.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { count } from '#ui/src/kernel/numbers.ts';
import { choice, createSearchParams, text } from '#ui/src/kernel/route/search-params.ts';
import { duration } from '#ui/src/kernel/words.ts';
import { SessionDrawer } from './session-drawer.tsx';
import { SessionLanes } from './session-lanes.tsx';

export type McpSession = Output<'mcp_sessions.list'>['items'][number];

const PAGE = 50;
const FILTERS = ['person', 'token', 'client', 'tool'] as const;
const FILTER_WORDS = { person: 'Person', token: 'Token', client: 'Client', tool: 'Tool' } as const;

/** What clients did, one lane each. */
export function SessionsPanel() {
  const { call, router } = useKernel();
  const params = createSearchParams(router, {
    person: text(),
    token: text(),
    client: text(),
    tool: text(),
    outcome: choice(['ok', 'failed']),
    session: text(),
  });
  const shown = () => params.get('session') || undefined;
  const open = ({ id }: McpSession) => params.set({ session: id });
  const filter = () => {
    const outcome = params.get('outcome');
    const named = FILTERS.flatMap((name) => (params.get(name) === '' ? [] : [[name, params.get(name)] as const]));
    return { ...Object.fromEntries(named), ...(outcome === undefined ? {} : { failed: outcome === 'failed' }) };
  };
  const key = () => {
    const query = new URLSearchParams(router.query());
    query.delete('session');
    return query.toString();
  };
  const sessions = usePages((skip, limit, signal) => call('mcp_sessions.list', { ...filter(), skip, limit }, signal), key, {
    size: PAGE,
    most: 100,
  });
  useFollow('mcp_sessions.list', async () => {
    if ((sessions.items()?.length ?? 0) <= PAGE && shown() === undefined) await sessions.reload();
  });
  const valuesOf = (name: (typeof FILTERS)[number]) => {
    const read = { person: 'person', token: 'token_prefix', client: 'client', tool: null } as const;
    const field = read[name];
    if (field === null) return [];
    const labels = new Map<string, string>();
    for (const session of sessions.items() ?? []) {
      const value = session[field];
      if (value !== null) labels.set(value, field === 'token_prefix' ? callerWord(session) : value);
    }
    return [...labels].map(([value, label]) => ({ value, label })).toSorted((a, b) => a.label.localeCompare(b.label));
  };
  const columns: Column<McpSession>[] = [
    {
      id: 'time',
      head: 'Last call',
      cell: (row) => (
        <span class="cell-time" title={exactTime(row.last_at)}>
          {minuteTime(row.last_at)}
        </span>
      ),
    },
    { id: 'client', head: 'Client', cell: (row) => <span class="cell-text">{row.client ?? '–'}</span> },
    {
      id: 'caller',
      head: 'Caller',
      narrow: 'medium',
      cell: (row) => (
        <span class="soft long-name" title={row.token_prefix ?? ''}>
          {callerWord(row)}
        </span>
      ),
    },
    {
      id: 'length',
      head: 'Duration',
      align: 'end',
      narrow: 'hide',
      cell: (row) => duration(Date.parse(row.last_at) - Date.parse(row.started_at)),
    },
    { id: 'calls', head: 'Calls', align: 'end', cell: (row) => count(row.calls) },
    {
      id: 'errors',
      head: 'Errors',
      align: 'end',
      cell: (row) => <span classList={{ 'logs-bad': row.errors > 0 }}>{count(row.errors)}</span>,
    },
    { id: 'tokens', head: 'Tokens', align: 'end', narrow: 'hide', cell: (row) => count(row.tokens) },
  ];
  return (
    <div class="stack logs-requests" data-gap="3">
      <FilterBar active={params.active(...FILTERS, 'outcome')} onClear={() => params.clear(...FILTERS, 'outcome')}>
        <For each={FILTERS}>
          {(name) => <FilterCombobox of={params} name={name} label={FILTER_WORDS[name]} free options={valuesOf(name)} />}
        </For>
        <SegmentedControl
          label="Errors"
          value={params.get('outcome') ?? 'all'}
          onChange={(outcome) => params.set({ outcome: outcome === 'all' ? undefined : outcome })}
          options={[
            { value: 'all' as const, label: 'All' },
            { value: 'ok' as const, label: 'Without errors' },
            { value: 'failed' as const, label: 'With errors' },
          ]}
        />
      </FilterBar>
      <Show when={(sessions.items()?.length ?? 0) > 0}>
        <SessionLanes sessions={sessions.items() ?? []} onOpen={open} />
      </Show>
      <div class="panel">
        <DataTable
          label="Sessions"
          pages={sessions}
          columns={columns}
          key={({ id }) => id}
          href={({ id }) => params.href({ session: id })}
          empty={
            <Show
              when={params.active(...FILTERS, 'outcome') > 0}
              fallback={
                <EmptyState title="No sessions yet">
                  A session holds the calls of one client, with no gap of more than 30 minutes.
                </EmptyState>
              }
            >
              <EmptyState title="No results">Change or clear the filters.</EmptyState>
            </Show>
          }
        />
      </div>
      <SessionDrawer id={shown()} onClose={() => params.clear('session')} />
    </div>
  );
}
