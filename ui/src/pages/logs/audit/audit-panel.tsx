import { createSignal, Show } from 'solid-js';
import { AuditKind } from '#core/contract/observe/audit.ts';
import { AUDIT_KIND_CHOICES } from '#core/contract/settings/audit-kinds.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { FilterCombobox } from '#ui/src/components/form/combobox.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { Menu } from '#ui/src/components/menu.tsx';
import { type Column, DataTable } from '#ui/src/components/table/data-table.tsx';
import { FilterBar, FilterSelect } from '#ui/src/components/table/filter-bar.tsx';
import { usePages } from '#ui/src/components/use-pages.ts';
import { useFollow, useQuery } from '#ui/src/components/use-query.ts';
import { optionsOf } from '#ui/src/fields/kind.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { choice, createSearchParams, text } from '#ui/src/kernel/route/search-params.ts';
import { timeColumn } from '../time-column.tsx';
import { AuditDrawer } from './audit-drawer.tsx';
import { actorWord, dayEnd, dayStart, downloadFrom, type Entry, noteOf, subjectOf } from './audit-entries.ts';
import { VerifyDialog } from './verify-dialog.tsx';

const PAGE = 100;
const FILTERS = ['kind', 'actor', 'tool', 'record', 'unmasked', 'from', 'to'] as const;
const OK = 'ok';

/** Who did what, filtered by the address. */
export function AuditPanel() {
  const { call, router } = useKernel();
  const params = createSearchParams(router, {
    kind: choice(AuditKind.options),
    actor: text(),
    tool: text(),
    record: text(),
    unmasked: text(),
    from: text(),
    to: text(),
    entry: text(),
  });
  const [verifying, setVerifying] = createSignal(false);
  const filter = () => {
    const [since, until] = [dayStart(params.get('from')), dayEnd(params.get('to'))];
    const kind = params.get('kind');
    const named = {
      actor: params.get('actor'),
      tool: params.get('tool'),
      entity: params.get('record'),
      unmasked: params.get('unmasked'),
    };
    return {
      ...(kind !== undefined && { kind }),
      ...Object.fromEntries(Object.entries(named).filter(([, value]) => value !== '')),
      ...(since !== undefined && { since }),
      ...(until !== undefined && { until }),
    };
  };
  /** The last entry of each page: pages have cursors, not numbers. */
  let last: number | undefined;
  const entries = usePages(
    async (skip, limit, signal) => {
      const before = skip === 0 || last === undefined ? {} : { before: last };
      const { items, next } = await call('audit.list', { ...filter(), ...before, limit }, signal);
      last = items.at(-1)?.seq ?? last;
      return {
        items: items.map((entry) => ({ ...entry, timestamp: entry.at })),
        total: skip + items.length + (next === null ? 0 : 1),
      };
    },
    () => FILTERS.map((name) => params.written(name)),
    { size: PAGE, most: 500 },
  );
  useFollow('audit.list', async () => {
    if ((entries.items()?.length ?? 0) <= PAGE && params.get('entry') === '') await entries.reload();
  });
  const shown = () => (entries.items() ?? []).find(({ seq }) => String(seq) === params.get('entry'));
  const among = (read: (entry: Entry) => string | null | undefined) =>
    [...new Set((entries.items() ?? []).flatMap((entry) => read(entry) || []))]
      .toSorted()
      .map((value) => ({ value, label: value }));
  const known = useQuery((read) => read('metrics.stats', { period: '7d' }), { live: false });
  const tools = () => Object.keys(known.data()?.tools ?? {}).toSorted();
  const download = (format: 'jsonl' | 'ocsf') => () =>
    downloadFrom(`/api/v1/audit/export?${new URLSearchParams({ ...filter(), format })}`);
  const columns: Column<Entry>[] = [
    timeColumn,
    { id: 'kind', head: 'Kind', cell: (entry) => <Badge>{AUDIT_KIND_CHOICES[entry.kind].label}</Badge> },
    { id: 'actor', head: 'Who', cell: (entry) => <span class="long-name">{actorWord(entry)}</span> },
    { id: 'subject', head: 'What', cell: (entry) => <span class="mono long-name">{subjectOf(entry)}</span> },
    {
      id: 'outcome',
      head: 'Outcome',
      narrow: 'hide',
      cell: (entry) => <span classList={{ 'logs-bad': entry.outcome !== OK }}>{entry.outcome}</span>,
    },
    {
      id: 'note',
      head: 'Details',
      narrow: 'medium',
      cell: (entry) => <span class="soft cell-text">{noteOf(entry)}</span>,
    },
    { id: 'ip', head: 'Address', narrow: 'wide', cell: (entry) => <span class="mono soft">{entry.ip ?? ''}</span> },
  ];
  return (
    <div class="stack logs-requests" data-gap="3">
      <FilterBar
        active={params.active(...FILTERS)}
        onClear={() => params.clear(...FILTERS)}
        end={
          <div class="row">
            <Button size="small" icon="shield" onPress={() => setVerifying(true)}>
              Verify
            </Button>
            <Menu
              label="Download"
              trigger="Download"
              size="small"
              items={[
                { label: 'JSON lines', onSelect: download('jsonl') },
                { label: 'OCSF', onSelect: download('ocsf') },
              ]}
            />
          </div>
        }
      >
        <FilterSelect of={params} name="kind" label="Kind" all="All kinds" options={optionsOf(AUDIT_KIND_CHOICES)} />
        <FilterCombobox of={params} name="actor" label="Who" all="Anyone" free options={among(({ actor }) => actor.name)} />
        <FilterCombobox
          of={params}
          name="tool"
          label="Tool"
          all="All tools"
          free
          options={tools().map((value) => ({ value, label: value }))}
        />
        <FilterCombobox
          of={params}
          name="record"
          label="Record"
          all="All records"
          free
          options={among(({ entity }) => entity?.name)}
        />
        <FilterCombobox
          of={params}
          name="unmasked"
          label="Unmasked column"
          all="Unmasked column"
          free
          options={[{ value: '*', label: 'Any masked column' }]}
        />
        <TextField label="From" hide_label type="date" value={params.get('from')} onInput={(from) => params.set({ from })} />
        <TextField label="To" hide_label type="date" value={params.get('to')} onInput={(to) => params.set({ to })} />
      </FilterBar>
      <div class="panel">
        <DataTable
          label="Audit log"
          pages={entries}
          columns={columns}
          key={({ seq }) => String(seq)}
          href={({ seq }) => params.href({ entry: String(seq) })}
          empty={
            <Show
              when={params.active(...FILTERS) > 0}
              fallback={<EmptyState title="No entries yet">Changes, deploys, calls and sign-ins appear here.</EmptyState>}
            >
              <EmptyState title="No results">Choose a longer period or clear the filters.</EmptyState>
            </Show>
          }
        />
      </div>
      <AuditDrawer of={shown()} onClose={() => params.clear('entry')} />
      <VerifyDialog open={verifying()} onClose={() => setVerifying(false)} />
    </div>
  );
}
