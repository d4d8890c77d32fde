import { createEffect, on } from 'solid-js';
import type { Connection } from '#core/contract/definitions/connections.ts';
import { Breakable } from '#ui/src/components/show/breakable.tsx';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { DataTable } from '#ui/src/components/table/data-table.tsx';
import { EmptyState, NoResults } from '#ui/src/components/empty-state.tsx';
import { FilterBar } from '#ui/src/components/table/filter-bar.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { enableItem, Menu } from '#ui/src/components/menu.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { createConnectionHealth } from './connection-health.ts';
import { addressOf } from './connection-draft.ts';
import { useAct } from '#ui/src/components/use-act.ts';
import { allOf } from '#ui/src/kernel/data/all-of.ts';
import { useCommands, useKernel } from '#ui/src/kernel/kernel.ts';
import { createSearchParams, oneOf, text } from '#ui/src/kernel/route/search-params.ts';
import { createSelection } from '#ui/src/kernel/selection.ts';
import { duration, failedOf, plural } from '#ui/src/kernel/words.ts';
import { updateMany } from '#ui/src/features/builder/definitions/bulk.ts';
import { SampleButton } from '#ui/src/features/connect/sample-button.tsx';
import { HealthDot } from './health.tsx';
import { useDelete } from './use-delete.ts';
import { inFields } from './words.ts';
import './connections.css';

const PAGE = 500;
const STATES = [
  { value: 'all', label: 'All' },
  { value: 'on', label: 'Enabled' },
  { value: 'off', label: 'Disabled' },
] as const;

export function Connections() {
  const { call, presence, router, session, toasts } = useKernel();
  const { act } = useAct();
  const filters = createSearchParams(router, { q: text(), state: oneOf(['all', 'on', 'off']) });
  const selection = createSelection();
  const remove = useDelete();
  let search: HTMLInputElement | undefined;

  const list = useQuery(
    (read) => {
      const [q, state] = [filters.get('q'), filters.get('state')];
      const filter = { ...(q === '' ? {} : { search: q }), ...(state === 'all' ? {} : { enabled: state === 'on' }) };
      return allOf((skip, limit) => read('connections.list', { ...filter, skip, limit }), PAGE);
    },
    { watch: () => [filters.get('q'), filters.get('state')] },
  );
  const types = useQuery((read) => read('connections.types', {}));
  const label = (db_type: string) => types.data()?.items.find((type) => type.db_type === db_type)?.label ?? db_type;
  const rows = () => list.data()?.items;
  const reload = () => void list.reload();

  const health = createConnectionHealth(call, presence);
  createEffect(
    on(rows, (listed) => {
      // Rows stay when a filter changes: each is tested once a visit, and again when who left it is back.
      void health.check((listed ?? []).filter(({ id, enabled }) => enabled && health.isDue(id)).map(({ id }) => id));
    }),
  );
  const test = async ({ id, name }: Connection) => {
    await health.check([id]);
    const found = health.of(id);
    if (found === undefined || !('result' in found)) return toasts.show(found && 'reason' in found ? found.reason : '', 'bad');
    const { result } = found;
    if (result.success) return toasts.show(`${name}: connected in ${duration(result.latency_ms)}.`, 'good');
    toasts.show(`${name}: not connected. ${inFields(result.message)}`, 'bad');
  };
  const enable = async (ids: readonly string[], enabled: boolean) => {
    const chosen = (rows() ?? []).filter(({ id }) => ids.includes(id));
    const changes = chosen.map(({ id, version }) => ({ id, version, enabled }));
    const answer = await act(
      () => updateMany(call, 'connection', changes),
      ({ failed, detail }) =>
        detail === undefined
          ? `${plural(ids.length, 'connection')} ${enabled ? 'enabled' : 'disabled'}.`
          : { bad: failedOf(failed, chosen.length, 'connection', detail) },
    );
    if (answer?.failed === 0) selection.clear();
    else await list.reload();
  };
  const removeAll = async (ids: readonly string[]) => {
    const chosen = (rows() ?? []).filter(({ id }) => ids.includes(id));
    if (await remove(chosen, reload)) selection.clear();
    // Somebody else may have changed one of them.
    await list.reload();
  };
  useCommands([
    {
      id: 'new-connection',
      title: 'Connect a database',
      group: 'This page',
      key: 'n',
      needs: 'connections.create',
      run: () => router.navigate('/connections/new'),
    },
    { id: 'find-connection', title: 'Search connections', group: 'This page', key: '/', run: () => search?.focus() },
  ]);

  return (
    <Page
      title="Databases"
      lead="The databases that tools, resources and prompts read from and write to."
      actions={
        <LinkButton href="/connections/new" kind="primary" icon="plus">
          Connect a database
        </LinkButton>
      }
    >
      <FilterBar
        search={{
          label: 'Search connections',
          value: filters.get('q'),
          onInput: (q) => filters.set({ q }),
          ref: (input) => {
            search = input;
          },
        }}
        active={filters.active()}
        onClear={() => filters.clear()}
      >
        <Select
          label="State"
          hide_label
          options={STATES}
          value={filters.get('state')}
          onChange={(state) => filters.set({ state })}
        />
      </FilterBar>
      <DataTable
        label="Connections"
        rows={rows()}
        query={list}
        key={(row) => row.id}
        href={(row) => `/connections/${row.id}`}
        muted={(row) => !row.enabled}
        {...(session.may('connections.update') ? { selection } : {})}
        bulk={(ids) => (
          <>
            <Button size="small" onPress={() => enable(ids, true)}>
              Enable
            </Button>
            <Button size="small" onPress={() => enable(ids, false)}>
              Disable
            </Button>
            <Button size="small" icon="trash" onPress={() => removeAll(ids)}>
              Delete…
            </Button>
          </>
        )}
        columns={[
          {
            id: 'name',
            head: 'Name',
            sort: ({ name }) => name,
            cell: (row) => (
              <span class="long-name">
                <Breakable text={row.name} />
              </span>
            ),
          },
          { id: 'type', head: 'Kind', narrow: 'hide', text: (row) => label(row.db_type) },
          {
            id: 'place',
            head: 'Address',
            narrow: 'medium',
            cell: (row) => (
              <span class="mono faint long-name">
                <Breakable text={addressOf(row)} />
              </span>
            ),
            sort: addressOf,
          },
          {
            id: 'access',
            head: 'Access',
            narrow: 'medium',
            cell: (row) => (row.read_only ? <Badge tone="info">Read-only</Badge> : <span class="soft">Read and write</span>),
            sort: (row) => row.read_only,
          },
          {
            id: 'state',
            head: 'State',
            cell: (row) => <HealthDot enabled={row.enabled} health={health.of(row.id)} />,
            sort: (row) => row.enabled,
          },
        ]}
        actions={(row) => (
          <Menu
            label={`More for ${row.name}`}
            size="small"
            items={[
              { label: 'Test', icon: 'bolt', needs: 'connections.test', onSelect: () => void test(row) },
              { label: 'Browse tables', icon: 'table', href: `/connections/${row.id}?tab=tables` },
              { label: 'New tool', icon: 'tool', href: `/tools/new?connection=${row.id}` },
              { ...enableItem(row.enabled, () => void enable([row.id], !row.enabled)), needs: 'connections.update' },
              'line',
              {
                label: 'Delete…',
                icon: 'trash',
                danger: true,
                needs: 'connections.delete',
                onSelect: () => void removeAll([row.id]),
              },
            ]}
          />
        )}
        empty={
          filters.active() > 0 ? (
            <NoResults onClear={() => filters.clear()} />
          ) : (
            <EmptyState
              icon="database"
              title="No connections yet"
              action={
                <>
                  <LinkButton href="/connections/new" kind="primary" icon="plus">
                    Connect a database
                  </LinkButton>
                  <SampleButton onDone={({ id }) => router.navigate(`/connections/${id}?tab=tables`)} />
                </>
              }
            >
              <p>Connect a database to create tools from its tables. A user with read-only access is safest to start with.</p>
            </EmptyState>
          )
        }
      />
    </Page>
  );
}
