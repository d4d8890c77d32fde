import { createEffect, createMemo, createSignal, on, onCleanup, onMount, Show } from 'solid-js';
import { Badge, StatusDot } from '#ui/src/components/badge.tsx';
import { SegmentedControl } from '#ui/src/components/choice.tsx';
import { Combobox } from '#ui/src/components/combobox.tsx';
import { type Column, DataTable } from '#ui/src/components/data-table.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { FilterBar } from '#ui/src/components/filter-bar.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Menu } from '#ui/src/components/menu.tsx';
import { Select } from '#ui/src/components/select.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { type Kind, KINDS, startOf } from '#ui/src/kernel/metrics.ts';
import { createPages } from '#ui/src/kernel/pages.ts';
import { createPoll } from '#ui/src/kernel/query.ts';
import { choice, createSearchParams, oneOf, text } from '#ui/src/kernel/search-params.ts';
import { duration } from '#ui/src/kernel/words.ts';
import { errorWord, KIND_WORDS } from '#ui/src/kernel/metrics-words.ts';
import { CallDrawer } from './call-drawer.tsx';
import { type CallEntry, saveCalls } from './download.ts';
import { RANGE_WORDS, RANGES, WORDS } from './words.ts';

const POLL_MS = 10_000;
const PAGE = 100;
const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const MINUTE = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });

/** Every call of the deployed server, filtered by what the address says. */
export function RequestsPanel() {
  const { call, router, toasts } = useKernel();
  const params = createSearchParams(router, {
    kind: choice(KINDS),
    name: text(),
    outcome: choice(['ok', 'failed']),
    range: oneOf(RANGES),
    from: text(),
    until: text(),
    connection: text(),
  });
  const [shown, setShown] = createSignal<CallEntry>();
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
      ...(outcome === undefined ? {} : { success: outcome === 'ok' }),
      ...(connection_id === '' ? {} : { connection_id }),
      ...(exact()
        ? { since: params.get('from'), until: params.get('until') }
        : range === 'all'
          ? {}
          : { since: startOf(range, Date.now()) }),
    };
  };
  const calls = createPages((skip, limit, signal) => call('logs.list', { ...filter(), skip, limit }, signal), {
    size: PAGE,
    most: 200,
  });
  const key = createMemo(() => router.query().toString());
  createEffect(on(key, () => void calls.restart()));
  const poll = createPoll({
    // Beyond the first page a person reads; what is new would push it away.
    run: async () => {
      if ((calls.items()?.length ?? 0) <= PAGE && shown() === undefined) await calls.reload();
    },
    every_ms: POLL_MS,
    visible: () => document.visibilityState === 'visible',
  });
  onMount(() => poll.start());
  onCleanup(() => poll.stop());

  const known = useQuery((signal) => call('metrics.stats', { period: '7d' }, signal));
  const names = () => {
    const { tools = {}, resources = {}, prompts = {} } = known.data() ?? {};
    return [...new Set([...Object.keys(tools), ...Object.keys(resources), ...Object.keys(prompts)])]
      .toSorted()
      .map((value) => ({ value, label: value }));
  };
  const save = (form: 'csv' | 'json') => async () => {
    const { saved, total } = await saveCalls(form, (skip, limit) => call('logs.list', { ...filter(), skip, limit }));
    toasts.show(saved < total ? WORDS.cut(saved) : WORDS.downloading(saved), 'good');
  };
  const download = (form: 'csv' | 'json') => () =>
    void save(form)().catch(() => toasts.show(calls.problem()?.detail ?? WORDS.no_call, 'bad'));

  const columns: Column<CallEntry>[] = [
    {
      id: 'time',
      head: WORDS.time,
      cell: (entry) => (
        <span class="num">
          <span class="logs-day">{DAY.format(Date.parse(entry.timestamp))}, </span>
          {CLOCK.format(Date.parse(entry.timestamp))}
        </span>
      ),
    },
    {
      id: 'name',
      head: WORDS.called,
      cell: (entry) => (
        <span class="logs-called">
          <StatusDot tone={entry.success ? 'good' : 'bad'} label={entry.success ? WORDS.ok : errorWord(entry.error)} hide_label />
          <span class="mono">{entry.name}</span>
          <Show when={entry.kind !== 'tool'}>
            <Badge>{KIND_WORDS[entry.kind]}</Badge>
          </Show>
        </span>
      ),
    },
    {
      id: 'result',
      head: WORDS.result,
      narrow: 'hide',
      cell: (entry) => (
        <span classList={{ 'logs-bad': !entry.success }}>{entry.success ? WORDS.ok : errorWord(entry.error)}</span>
      ),
    },
    { id: 'took', head: WORDS.duration, align: 'end', cell: (entry) => duration(entry.duration_ms) },
    { id: 'wait', head: WORDS.wait, align: 'end', narrow: 'hide', cell: (entry) => duration(entry.wait_ms) },
    { id: 'rows', head: WORDS.rows, align: 'end', narrow: 'hide', cell: (entry) => entry.rows.toLocaleString('en') },
    {
      id: 'client',
      head: WORDS.client,
      narrow: 'hide',
      cell: (entry) => <span class="soft truncate">{entry.client ?? ''}</span>,
    },
    {
      id: 'token',
      head: WORDS.token,
      narrow: 'hide',
      cell: (entry) => <span class="faint mono">{entry.token_prefix ?? ''}</span>,
    },
  ];
  const active = () => params.active('kind', 'name', 'outcome', 'range', 'connection') + (exact() ? 1 : 0);

  return (
    <div class="logs-requests">
      <FilterBar
        active={active()}
        onClear={() => params.clear()}
        end={
          <Menu
            label={WORDS.download}
            trigger={WORDS.download}
            size="small"
            items={[
              { label: WORDS.as_csv, onSelect: download('csv') },
              { label: WORDS.as_json, onSelect: download('json') },
            ]}
          />
        }
      >
        <Combobox
          label={WORDS.search_name}
          hide_label
          free
          placeholder={WORDS.any_name}
          options={names()}
          value={params.get('name') === '' ? undefined : params.get('name')}
          onChange={(name = '') => params.set({ name })}
        />
        <Select
          label={WORDS.kind}
          hide_label
          value={params.get('kind') ?? 'all'}
          onChange={(kind) => params.set({ kind: kind === 'all' ? undefined : kind })}
          options={[
            { value: 'all' as const, label: WORDS.any_kind },
            ...KINDS.map((value: Kind) => ({ value, label: `${KIND_WORDS[value]}s` })),
          ]}
        />
        <SegmentedControl
          label={WORDS.outcome}
          value={params.get('outcome') ?? 'all'}
          onChange={(outcome) => params.set({ outcome: outcome === 'all' ? undefined : outcome })}
          options={[
            { value: 'all' as const, label: WORDS.any_outcome },
            { value: 'ok' as const, label: WORDS.ok },
            { value: 'failed' as const, label: WORDS.failed },
          ]}
        />
        <Show
          when={exact()}
          fallback={
            <Select
              label={WORDS.range}
              hide_label
              value={params.get('range')}
              onChange={(range) => params.set({ range })}
              options={RANGES.map((value) => ({ value, label: RANGE_WORDS[value] }))}
            />
          }
        >
          <Badge tone="water">
            {WORDS.exact(MINUTE.format(Date.parse(params.get('from'))), MINUTE.format(Date.parse(params.get('until'))))}
          </Badge>
        </Show>
        <Show when={params.get('connection') !== ''}>
          <Badge tone="water">{WORDS.one_connection}</Badge>
        </Show>
      </FilterBar>
      <div class="panel">
        <DataTable
          label={WORDS.requests}
          rows={calls.items()}
          columns={columns}
          key={({ id }) => id}
          problem={calls.problem()}
          onRetry={() => void calls.reload()}
          onOpen={setShown}
          more={
            calls.total() === undefined
              ? undefined
              : { total: calls.total() ?? 0, busy: calls.pending(), onMore: () => void calls.more() }
          }
          empty={
            <Show
              when={active() > 0}
              fallback={
                <EmptyState title={WORDS.never} action={<LinkButton href="/playground">{WORDS.playground}</LinkButton>}>
                  {WORDS.never_text}
                </EmptyState>
              }
            >
              <EmptyState title={WORDS.no_call}>{WORDS.no_call_text}</EmptyState>
            </Show>
          }
        />
      </div>
      <CallDrawer entry={shown()} onClose={() => setShown(undefined)} />
    </div>
  );
}
