import { createEffect, createMemo, Match, on, Show, Switch as Choose } from 'solid-js';
import { Badge } from '#ui/src/components/badge.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Menu } from '#ui/src/components/menu.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { Failed } from '#ui/src/components/notice.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { useParams } from '#ui/src/components/shell/route-context.ts';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { Tabs } from '#ui/src/components/tabs.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { QueuePanel } from '#ui/src/features/queue/queue-panel.tsx';
import { useQueues } from '#ui/src/features/queue/use-queues.ts';
import { createConnectionHealth } from './connection-health.ts';
import { hasFiles, addressOf } from './connection-draft.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { createSearchParams, oneOf } from '#ui/src/kernel/route/search-params.ts';
import { ConnectionSettings } from './connection-settings.tsx';
import { FilesPanel } from './files-panel.tsx';
import { HealthDot } from './health.tsx';
import { SchemaExplorer } from './tables/schema-explorer.tsx';
import { useDelete } from './use-delete.ts';
import './connections.css';

const TABS = ['settings', 'tables', 'files', 'queue'] as const;
type Tab = (typeof TABS)[number];

/** One connection: its settings, and what is in the database. */
export function ConnectionPage() {
  const { call, presence, router } = useKernel();
  const { id = '' } = useParams();
  // Others rename, disable and delete it.
  const connection = useQuery((read) => read('connections.get', { id }), { live: true });
  const types = useQuery((read) => read('connections.types', {}));
  const label = (db_type: string) => types.data()?.items.find((type) => type.db_type === db_type)?.label;
  const deleted = () => connection.problem()?.code === 'not_found';
  const params = createSearchParams(router, { tab: oneOf(TABS) });
  const remove = useDelete();
  const health = createConnectionHealth(call, presence);
  /** A tab that is left is gone with what was typed there. */
  const choose = async (tab: Tab) => {
    if (tab !== params.get('tab') && (await router.mayLeave())) params.set({ tab });
  };
  const enabled = createMemo(() => connection.data()?.enabled);
  createEffect(() => enabled() && void health.check([id]));
  // Read again after a long time away.
  createEffect(on(connection.data, (found) => found?.enabled && health.isDue(id) && void health.check([id]), { defer: true }));
  // A test finds out first that it is gone.
  createEffect(() => health.of(id)?.state === 'unknown' && void connection.reload());

  return (
    <Choose fallback={<SkeletonList rows={4} label="Loading the connection" />}>
      <Match when={connection.data()}>
        {(found) => (
          <Page
            title={found().name}
            back={{ href: '/connections', label: 'Databases' }}
            lead={<Lead label={label(found().db_type)} address={addressOf(found())} />}
            badge={
              <>
                <Show when={!deleted()} fallback={<Badge tone="bad">Deleted</Badge>}>
                  <HealthDot enabled={found().enabled} health={health.of(id)} />
                </Show>
                {found().read_only && <Badge tone="info">Read-only</Badge>}
              </>
            }
            actions={
              <>
                <LinkButton href={`/tools/new?connection=${id}`} icon="plus">
                  New tool
                </LinkButton>
                <Menu
                  label="More for this connection"
                  items={[
                    { label: 'Its tools', icon: 'tool', href: `/tools?connection=${id}` },
                    { label: 'History', icon: 'history', href: `/history?type=connection&id=${id}` },
                    'line',
                    {
                      label: 'Delete…',
                      icon: 'trash',
                      danger: true,
                      needs: 'connections.delete',
                      onSelect: () =>
                        void remove([found()]).then((gone) => {
                          if (gone) router.navigate('/connections', { gone: true });
                        }),
                    },
                  ]}
                />
              </>
            }
          >
            <Tabs
              label="Connection views"
              navigates
              value={params.get('tab')}
              onChange={(tab) => void choose(tab)}
              tabs={[
                {
                  value: 'settings',
                  label: 'Settings',
                  panel: () => (
                    <ConnectionSettings
                      connection={found()}
                      health={health}
                      onSaved={() => void connection.reload()}
                      onGone={() => void connection.reload()}
                    />
                  ),
                },
                {
                  value: 'tables',
                  label: 'Tables',
                  panel: () => <SchemaExplorer connection_id={id} db_type={found().db_type} />,
                },
                ...(hasFiles(found())
                  ? [
                      {
                        value: 'files' as const,
                        label: 'Files',
                        panel: () => <FilesPanel connection={found()} onSaved={() => void connection.reload()} />,
                      },
                    ]
                  : []),
                { value: 'queue', label: 'Queue', panel: () => <ConnectionQueue id={id} name={found().name} /> },
              ]}
            />
          </Page>
        )}
      </Match>
      <Match when={deleted()}>
        <EmptyState
          icon="database"
          title="This connection doesn’t exist. It may have been deleted."
          action={<LinkButton href="/connections">All databases</LinkButton>}
        />
      </Match>
      <Match when={connection.problem()}>
        <Failed of={connection} />
      </Match>
    </Choose>
  );
}

/** The kind of database and its address. */
function Lead(props: { label: string | undefined; address: string }) {
  return (
    <>
      {props.label}
      {props.label && ' · '}
      <span class="mono">{props.address}</span>
    </>
  );
}

/** Its calls that run and wait, live. */
function ConnectionQueue(props: { id: string; name: string }) {
  const { queues, samples } = useQueues();
  return (
    <>
      <Failed of={queues} />
      <QueuePanel id={props.id} name={props.name} queue={queues.data()?.[props.id]} samples={samples().get(props.id) ?? []} />
    </>
  );
}
