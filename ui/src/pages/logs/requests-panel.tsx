import { Show } from 'solid-js';
import { optionsOf } from '#ui/src/fields/kind.ts';
import { CALL_OUTCOMES, OUTCOME_CHOICES } from '#core/contract/observe/outcomes.ts';
import { Breakable } from '#ui/src/components/show/breakable.tsx';
import { Badge, StatusDot } from '#ui/src/components/badge.tsx';
import { FilterCombobox } from '#ui/src/components/form/combobox.tsx';
import { type Column, DataTable } from '#ui/src/components/table/data-table.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { FilterBar, FilterSelect } from '#ui/src/components/table/filter-bar.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Menu } from '#ui/src/components/menu.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { usePages } from '#ui/src/components/use-pages.ts';
import { useFollow, useQuery } from '#ui/src/components/use-query.ts';
import { minuteTime } from '#ui/src/kernel/dates.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { callerWord } from '#ui/src/kernel/metrics-words.ts';
import { KINDS, startOf, UNNAMED_CLIENT } from '#ui/src/kernel/metrics.ts';
import { num } from '#ui/src/kernel/numbers.ts';
import { toProblem } from '#ui/src/kernel/problem.ts';
import { choice, createSearchParams, oneOf, text } from '#ui/src/kernel/route/search-params.ts';
import { capital, duration, plural } from '#ui/src/kernel/words.ts';
import { CallDrawer } from './call-drawer.tsx';
import { type CallEntry, saveCalls } from './download.ts';
import { timeColumn } from './time-column.tsx';
import { endWord, RANGE_WORDS, RANGES } from './words.ts';

const PAGE = 100;

/** The request log of the deployed server, filtered by the address. */
export function RequestsPanel() {
  const { call, router, toasts } = useKernel();
  const params = createSearchParams(router, {
    kind: choice(KINDS),
    name: text(),
    outcome: choice(['failed', ...CALL_OUTCOMES]),
    range: oneOf(RANGES),
    from: text(),
    until: text(),
    connection: text(),
    call: text(),
    client: text(),
    canary: text(),
  });
  const shown = () => params.get('call') || undefined;
  const exact = () => params.get('from') !== '' && params.get('until') !== '';
  const filter = () => {
    const [kind, name, outcome, range, connection_id] = [
      params.get('kind'),
      params.get('name'),
      params.get('outcome'),
      params.get('range'),
      params.get('connection'),
    ];
    return {
      ...(kind === undefined ? {} : { kind }),
      ...(name === '' ? {} : { name }),
      ...(outcome === undefined ? {} : outcome === 'failed' ? { success: false } : { outcome }),
      ...(connection_id === '' ? {} : { connection_id }),
      ...(params.get('canary') === '' ? {} : { canary: params.get('canary') }),
      ...(params.get('client') === '' ? {} : { client: params.get('client') === UNNAMED_CLIENT ? '' : params.get('client') }),
      ...(exact()
        ? { since: params.get('from'), until: params.get('until') }
        : range === 'all'
          ? {}
          : { since: startOf(range, Date.now()) }),
    };
  };
  const key = () => {
    const query = new URLSearchParams(router.query());
    query.delete('call');
    return query.toString();
  };
  const calls = usePages((skip, limit, signal) => call('logs.list', { ...filter(), skip, limit }, signal), key, {
    size: PAGE,
    most: 200,
  });
  // Only on the first page: new entries would move the rows that a person reads.
  useFollow('logs.list', async () => {
    if ((calls.items()?.length ?? 0) <= PAGE && shown() === undefined) await calls.reload();
  });

  const known = useQuery((read) => read('metrics.stats', { period: '7d' }), { live: false });
  const names = () => {
    const { tools = {}, resources = {}, prompts = {} } = known.data() ?? {};
    return [...new Set([...Object.keys(tools), ...Object.keys(resources), ...Object.keys(prompts)])]
      .toSorted()
      .map((value) => ({ value, label: value }));
  };
  /** Each toast replaces the previous one. */
  const say = (text: string, tone: 'good' | 'bad' | 'plain') =>
    toasts.show(text, tone, { tally: { kind: 'download', count: 0, text: () => text } });
  const save = async (form: 'csv' | 'json') => {
    say('Preparing the download…', 'plain');
    const { saved, total } = await saveCalls(form, (skip, limit) => call('logs.list', { ...filter(), skip, limit }));
    say(
      saved < total
        ? `Saved the newest ${plural(saved, 'call')}. Narrow the filters to get older ones`
        : `${plural(saved, 'call')} saved to a file`,
      'good',
    );
  };
  const download = (form: 'csv' | 'json') => () => void save(form).catch((fault: unknown) => say(toProblem(fault).detail, 'bad'));

  const columns: Column<CallEntry>[] = [
    timeColumn,
    {
      id: 'name',
      head: 'Called',
      cell: (entry) => (
        <span class="inline-row">
          <StatusDot tone={entry.success ? 'good' : 'bad'} label={endWord(entry)} hide_label />
          <span class="mono long-name" title={entry.name}>
            <Breakable text={entry.name} />
          </span>
          <Show when={entry.kind !== 'tool'}>
            <Badge>{capital(entry.kind)}</Badge>
          </Show>
        </span>
      ),
    },
    {
      id: 'result',
      head: 'Outcome',
      narrow: 'hide',
      cell: (entry) => (
        <span class="inline-row">
          <span classList={{ 'logs-bad': !entry.success }}>{endWord(entry)}</span>
          <Show when={entry.canary !== null}>
            <Badge tone="warning">Canary</Badge>
          </Show>
        </span>
      ),
    },
    { id: 'took', head: 'Duration', align: 'end', cell: (entry) => duration(entry.duration_ms) },
    { id: 'wait', head: 'Wait', align: 'end', narrow: 'medium', cell: (entry) => duration(entry.wait_ms) },
    { id: 'rows', head: 'Rows', align: 'end', narrow: 'medium', cell: (entry) => num(entry.rows) },
    {
      id: 'client',
      head: 'Client',
      narrow: 'medium',
      cell: (entry) => <span class="soft long-name">{entry.client ?? ''}</span>,
    },
    {
      id: 'caller',
      head: 'Caller',
      narrow: 'wide',
      cell: (entry) => (
        <span class="soft long-name" title={entry.token_prefix ?? ''}>
          {callerWord(entry)}
        </span>
      ),
    },
  ];
  const active = () => params.active('kind', 'name', 'outcome', 'range', 'connection', 'client', 'canary') + (exact() ? 1 : 0);

  return (
    <div class="stack logs-requests" data-gap="3">
      <FilterBar
        active={active()}
        onClear={() => params.clear('kind', 'name', 'outcome', 'range', 'from', 'until', 'connection', 'client', 'canary')}
        end={
          <Menu
            label="Download"
            trigger="Download"
            size="small"
            items={[
              { label: 'CSV', onSelect: download('csv') },
              { label: 'JSON', onSelect: download('json') },
            ]}
          />
        }
      >
        <FilterCombobox of={params} name="name" label="Name" all="All names" free options={names()} />
        <FilterSelect
          of={params}
          name="kind"
          label="Kind"
          all="All kinds"
          options={KINDS.map((value) => ({ value, label: `${capital(value)}s` }))}
        />
        <FilterSelect
          of={params}
          name="outcome"
          label="Outcome"
          all="All outcomes"
          options={[{ value: 'failed', label: 'All failures' }, ...optionsOf(OUTCOME_CHOICES)]}
        />
        <Show
          when={exact()}
          fallback={
            <Select
              label="Time"
              hide_label
              value={params.get('range')}
              onChange={(range) => params.set({ range })}
              options={RANGES.map((value) => ({ value, label: RANGE_WORDS[value] }))}
            />
          }
        >
          <Badge tone="info">{`${minuteTime(params.get('from'))} to ${minuteTime(params.get('until'))}`}</Badge>
        </Show>
        <Show when={params.get('client') !== ''}>
          <Badge tone="info">
            {params.get('client') === UNNAMED_CLIENT ? 'Unnamed client' : `Client: ${params.get('client')}`}
          </Badge>
        </Show>
        <Show when={params.get('connection') !== ''}>
          <Badge tone="info">One connection</Badge>
        </Show>
        <Show when={params.get('canary') !== ''}>
          <Badge tone="info">Answered by one canary</Badge>
        </Show>
      </FilterBar>
      <div class="panel">
        <DataTable
          label="Calls"
          pages={calls}
          columns={columns}
          key={({ id }) => id}
          href={({ id }) => params.href({ call: id })}
          empty={
            <Show
              when={active() > 0}
              fallback={
                <EmptyState title="No calls yet" action={<LinkButton href="/playground">Open the playground</LinkButton>}>
                  Connect a client, or call a tool in the playground.
                </EmptyState>
              }
            >
              <EmptyState title="No results">Choose a longer period or clear the filters.</EmptyState>
            </Show>
          }
        />
      </div>
      <CallDrawer id={shown()} onClose={() => params.clear('call')} />
    </div>
  );
}
