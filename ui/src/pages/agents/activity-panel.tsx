import { createMemo, createSignal, For, Show } from 'solid-js';
import type { AgentActivity } from '#core/contract/identity/agent-access.ts';
import { operations } from '#core/contract/index.ts';
import { StatusDot } from '#ui/src/components/badge.tsx';
import { SegmentedControl } from '#ui/src/components/form/choice.tsx';
import { FilterCombobox } from '#ui/src/components/form/combobox.tsx';
import { DataTable } from '#ui/src/components/table/data-table.tsx';
import { EmptyState, NoResults } from '#ui/src/components/empty-state.tsx';
import { FilterBar, FilterSelect } from '#ui/src/components/table/filter-bar.tsx';
import { ProblemNotice } from '#ui/src/components/notice.tsx';
import { Aging } from '#ui/src/components/show/aging.tsx';
import { Breakable } from '#ui/src/components/show/breakable.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { Stat, StatGrid } from '#ui/src/components/show/stat.tsx';
import { Ago } from '#ui/src/components/time.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { countryName, flagOf } from './access-activity.ts';
import { useCommands, useKernel } from '#ui/src/kernel/kernel.ts';
import { count, percent } from '#ui/src/kernel/numbers.ts';
import { createSearchParams, flag, text } from '#ui/src/kernel/route/search-params.ts';
import { duration } from '#ui/src/kernel/words.ts';
import { usePages } from '#ui/src/components/use-pages.ts';
import { type Period, PERIODS } from '#ui/src/kernel/metrics.ts';

const TOOLS = Object.values(operations)
  .flatMap((operation) => ('agent' in operation ? [operation.agent] : []))
  .toSorted()
  .map((name) => ({ value: name, label: name }));
const RESULTS = [
  { value: 'yes', label: 'Done' },
  { value: 'no', label: 'Failed' },
];
const BUSIEST = 5;

/** What agents and scripts did: totals, then every call. */
export function ActivityPanel() {
  const { call, router } = useKernel();
  const filters = createSearchParams(router, { tool: text(), token: text(), done: flag() });
  const [period, setPeriod] = createSignal<Period>('24h');
  const stats = useQuery((read) => read('agent_activity.stats', { period: period() }), { watch: period });
  const pages = usePages(
    (skip, limit, signal) => {
      const [tool, token, done] = [filters.get('tool'), filters.get('token'), filters.get('done')];
      return call(
        'agent_activity.list',
        {
          skip,
          limit,
          ...(tool === '' ? {} : { tool_name: tool }),
          ...(token === '' ? {} : { token_prefix: token }),
          ...(done === undefined ? {} : { success: done }),
        },
        signal,
      );
    },
    () => [filters.get('tool'), filters.get('token'), filters.get('done')],
  );
  const reload = () => void Promise.all([stats.reload(), pages.reload()]);
  useCommands([{ id: 'reload-activity', title: 'Reload the activity', group: 'This page', key: 'r', run: reload }]);
  const tokens = createMemo(() =>
    (stats.data()?.tokens ?? []).map(({ token_prefix, token_name }) => ({
      value: token_prefix,
      label: token_name,
      hint: token_prefix,
    })),
  );
  const busiest = createMemo(() => [
    { title: 'By token', rows: (stats.data()?.tokens ?? []).map((row) => ({ ...row, name: row.token_name })) },
    { title: 'By tool', rows: (stats.data()?.tools ?? []).map((row) => ({ ...row, name: row.tool_name })) },
    {
      title: 'By country',
      rows: (stats.data()?.countries ?? []).map((row) => ({
        ...row,
        name: row.country === null ? 'Private or unknown' : `${flagOf(row.country)} ${countryName(row.country)}`,
      })),
    },
  ]);

  return (
    <div class="stack">
      <div class="row">
        <SegmentedControl
          label="Period"
          value={period()}
          onChange={setPeriod}
          options={PERIODS.map((value) => ({ value, label: value }))}
        />
      </div>
      <Show when={stats.problem()}>{(problem) => <ProblemNotice problem={problem()} onRetry={reload} />}</Show>
      <Show when={stats.data()}>
        {(totals) => (
          <Aging of={stats}>
            <StatGrid>
              <Stat label="Calls" value={count(totals().calls)} />
              <Stat
                label="Errors"
                value={count(totals().errors)}
                {...(totals().errors > 0 ? { tone: 'bad' as const } : {})}
                hint={percent(totals().error_rate)}
              />
              <Stat label="Average" value={duration(totals().avg_ms)} />
            </StatGrid>
            <Show when={!totals().complete}>
              <p class="small faint">This period has more calls than Sluice stores. Only stored calls are counted.</p>
            </Show>
            <Show when={totals().calls > 0}>
              <div class="agents-busiest">
                <For each={busiest()}>
                  {(part) => (
                    <Panel title={part.title} flush>
                      <ol class="panel-body stack agents-bars" data-gap="2">
                        <For each={part.rows.slice(0, BUSIEST)}>
                          {(row) => (
                            <li>
                              <span class="long-name">
                                <Breakable text={row.name} />
                              </span>
                              <span class="num soft">{count(row.calls)}</span>
                              <meter min={0} max={Math.max(1, totals().calls)} value={row.calls} aria-label={row.name} />
                            </li>
                          )}
                        </For>
                      </ol>
                    </Panel>
                  )}
                </For>
              </div>
            </Show>
          </Aging>
        )}
      </Show>
      <FilterBar active={filters.active()} onClear={() => filters.clear()}>
        <FilterCombobox of={filters} name="tool" label="Tool or operation" size="small" free options={TOOLS} />
        <FilterCombobox of={filters} name="token" label="Token" size="small" options={tokens()} />
        <FilterSelect of={filters} name="done" label="Result" size="small" all="All results" options={RESULTS} />
      </FilterBar>
      <DataTable<AgentActivity>
        label="Activity"
        pages={pages}
        key={(row) => `${row.timestamp}/${row.token_prefix}/${row.tool_name}/${row.duration_ms}`}
        columns={[
          { id: 'tool', head: 'Tool', cell: (row) => <span class="mono small">{row.tool_name}</span> },
          { id: 'who', head: 'Who', cell: (row) => <span title={row.token_prefix}>{row.token_name}</span> },
          {
            id: 'from',
            head: 'From',
            narrow: 'hide',
            cell: (row) => (
              <span class="small">
                <Show when={row.country}>
                  {(country) => <span title={countryName(country())}>{`${flagOf(country())} `}</span>}
                </Show>
                <span class="mono faint">{row.client_ip ?? ''}</span>
              </span>
            ),
          },
          {
            id: 'result',
            head: 'Result',
            cell: (row) => (
              <StatusDot tone={row.success ? 'good' : 'bad'} label={row.success ? 'Done' : (row.error ?? 'Errors')} />
            ),
          },
          {
            id: 'took',
            head: 'Duration',
            narrow: 'hide',
            align: 'end',
            cell: (row) => <span class="num">{duration(row.duration_ms)}</span>,
          },
          { id: 'when', head: 'When', narrow: 'hide', cell: (row) => <Ago iso={row.timestamp} /> },
        ]}
        empty={
          filters.active() > 0 ? (
            <NoResults onClear={() => filters.clear()} />
          ) : (
            <EmptyState icon="bot" title="No agent calls yet">
              <p>Each call is listed with its tool, token and origin.</p>
            </EmptyState>
          )
        }
      />
    </div>
  );
}
