import type { Output } from '#core/contract/index.ts';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { Breakable } from '#ui/src/components/show/breakable.tsx';
import { type Column, DataTable } from '#ui/src/components/table/data-table.tsx';
import { FilterBar } from '#ui/src/components/table/filter-bar.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { failureHref, startOf } from '#ui/src/kernel/metrics.ts';
import { callerWord, failureWord } from '#ui/src/kernel/metrics-words.ts';
import { count } from '#ui/src/kernel/numbers.ts';
import { createSearchParams, oneOf } from '#ui/src/kernel/route/search-params.ts';
import { RANGE_WORDS, RANGES } from './words.ts';

type Failure = Output<'logs.failures'>['items'][number];

const MOST = 200;

/** Failed calls grouped by what was called and its error, the latest first. */
export function FailuresPanel() {
  const { router } = useKernel();
  const params = createSearchParams(router, { range: oneOf(RANGES) });
  const range = () => params.get('range');
  const list = useQuery(
    (read) => {
      const shown = range();
      return read('logs.failures', { limit: MOST, ...(shown === 'all' ? {} : { since: startOf(shown, Date.now()) }) });
    },
    { watch: range },
  );
  const columns: Column<Failure>[] = [
    {
      id: 'name',
      head: 'Name',
      sort: ({ name }) => name,
      cell: (row) => (
        <span class="mono long-name">
          <Breakable text={row.name} />
        </span>
      ),
    },
    {
      id: 'error',
      head: 'Error',
      cell: (row) => (
        <span class="cell-text" title={failureWord(row)}>
          {failureWord(row)}
        </span>
      ),
    },
    {
      id: 'callers',
      head: 'Callers',
      narrow: 'medium',
      cell: (row) => <span class="cell-text">{row.callers.map((name) => callerWord({ token_prefix: name })).join(', ')}</span>,
    },
    { id: 'calls', head: 'Calls', num: ({ calls }) => calls, as: count },
    { id: 'last', head: 'Last call', narrow: 'hide', time: ({ last_at }) => last_at },
  ];
  return (
    <div class="stack logs-requests" data-gap="3">
      <FilterBar>
        <Select
          label="Time"
          hide_label
          value={range()}
          onChange={(value) => params.set({ range: value })}
          options={RANGES.map((value) => ({ value, label: RANGE_WORDS[value] }))}
        />
      </FilterBar>
      <div class="panel">
        <DataTable
          label="Failures"
          list={list}
          columns={columns}
          key={({ call_id }) => call_id}
          href={(failure) => failureHref(failure, range())}
          empty={<EmptyState title="No failed calls in this time">Choose a longer period to see earlier ones.</EmptyState>}
        />
      </div>
    </div>
  );
}
