import { Show } from 'solid-js';
import type { Output } from '#core/contract/index.ts';
import { REFUSAL_CHOICES, RefusalKind } from '#core/contract/observe/calls.ts';
import { Breakable } from '#ui/src/components/show/breakable.tsx';
import { Badge } from '#ui/src/components/badge.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { type Column, DataTable } from '#ui/src/components/table/data-table.tsx';
import { FilterBar, FilterSelect } from '#ui/src/components/table/filter-bar.tsx';
import { usePages } from '#ui/src/components/use-pages.ts';
import { useFollow } from '#ui/src/components/use-query.ts';
import { minuteTime } from '#ui/src/kernel/dates.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { count } from '#ui/src/kernel/numbers.ts';
import { choice, createSearchParams } from '#ui/src/kernel/route/search-params.ts';
import { timeColumn } from './time-column.tsx';

type Entry = Output<'logs.refusals'>['items'][number];

const PAGE = 100;

/** Requests that never became a call. */
export function RefusalsPanel() {
  const { call, router } = useKernel();
  const params = createSearchParams(router, { refused: choice(RefusalKind.options) });
  let counts: Output<'logs.refusals'>['counts'] = {};
  let since = '';
  const entries = usePages(
    async (skip, limit, signal) => {
      const kind = params.get('refused');
      const page = await call('logs.refusals', { skip, limit, ...(kind === undefined ? {} : { kind }) }, signal);
      counts = page.counts;
      since = page.counted_since;
      return page;
    },
    () => params.get('refused'),
    { size: PAGE, most: 200 },
  );
  useFollow('logs.refusals', async () => {
    if ((entries.items()?.length ?? 0) <= PAGE) await entries.reload();
  });
  const word = (kind: RefusalKind) => {
    const refused = entries.items() === undefined ? 0 : (counts[kind] ?? 0);
    return refused === 0
      ? REFUSAL_CHOICES[kind].label
      : `${REFUSAL_CHOICES[kind].label} (${count(refused)} since ${minuteTime(since)})`;
  };
  const columns: Column<Entry>[] = [
    timeColumn,
    { id: 'kind', head: 'Kind', cell: (entry) => <Badge>{REFUSAL_CHOICES[entry.kind].label}</Badge> },
    {
      id: 'reason',
      head: 'Reason',
      cell: (entry) => (
        <span class="cell-text" title={entry.reason}>
          {entry.reason}
          <Show when={entry.called}>
            {(called) => (
              <span class="faint mono">
                {' '}
                <Breakable text={called()} />
              </span>
            )}
          </Show>
        </span>
      ),
    },
    { id: 'address', head: 'Address', narrow: 'medium', cell: (entry) => <span class="mono">{entry.address ?? '–'}</span> },
    { id: 'client', head: 'Client', narrow: 'medium', cell: (entry) => <span class="soft long-name">{entry.client ?? ''}</span> },
  ];
  return (
    <div class="stack logs-requests" data-gap="3">
      <FilterBar active={params.active('refused')} onClear={() => params.clear()}>
        <FilterSelect
          of={params}
          name="refused"
          label="Kind of refusal"
          all="All refusals"
          options={RefusalKind.options.map((value) => ({ value, label: word(value) }))}
        />
      </FilterBar>
      <div class="panel">
        <DataTable
          label="Refusals"
          pages={entries}
          columns={columns}
          key={({ id }) => id}
          empty={
            <EmptyState title="No refusals">
              Requests without a valid token, for a tool that doesn’t exist, or in a wrong format appear here.
            </EmptyState>
          }
        />
      </div>
    </div>
  );
}
