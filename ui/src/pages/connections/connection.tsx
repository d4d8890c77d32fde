import { Match, Switch as Choose } from 'solid-js';
import { Badge, StatusDot } from '#ui/src/components/badge.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Menu } from '#ui/src/components/menu.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { ProblemNotice } from '#ui/src/components/notice.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { useParams } from '#ui/src/components/route-context.ts';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { Tabs } from '#ui/src/components/tabs.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { placeOf } from '#ui/src/kernel/connection-draft.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { createSearchParams, oneOf } from '#ui/src/kernel/search-params.ts';
import { ConnectionSettings } from './connection-settings.tsx';
import { SchemaExplorer } from './schema-explorer.tsx';
import { useDelete } from './use-delete.ts';
import { WORDS } from './words.ts';
import './connections.css';

/** One connection: its settings, and what is in the database. */
export function ConnectionPage() {
  const { call, router } = useKernel();
  const { id = '' } = useParams();
  const connection = useQuery((signal) => call('connections.get', { id }, signal));
  const place = createSearchParams(router, { tab: oneOf(['settings', 'tables']) });
  const remove = useDelete();

  return (
    <Choose fallback={<SkeletonList rows={4} label="Reading the connection" />}>
      <Match when={connection.data()}>
        {(found) => (
          <Page
            title={found().name}
            back={{ href: '/connections', label: WORDS.title }}
            lead={<span class="mono">{`${found().db_type} · ${placeOf(found())}`}</span>}
            badge={
              <>
                <StatusDot tone={found().enabled ? 'good' : 'plain'} label={found().enabled ? 'Enabled' : 'Off'} />
                {found().read_only && <Badge tone="water">Read-only</Badge>}
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
                    { label: 'Tools on it', icon: 'tool', href: `/tools?connection=${id}` },
                    { label: 'History', icon: 'history', href: `/history?type=connection&id=${id}` },
                    'line',
                    {
                      label: 'Delete…',
                      icon: 'trash',
                      danger: true,
                      onSelect: () =>
                        void remove([found()]).then((gone) => {
                          if (gone) router.navigate('/connections');
                        }),
                    },
                  ]}
                />
              </>
            }
          >
            <Tabs
              label="Parts of the connection"
              value={place.get('tab')}
              onChange={(tab) => place.set({ tab })}
              tabs={[
                {
                  value: 'settings',
                  label: 'Settings',
                  panel: () => <ConnectionSettings connection={found()} onSaved={() => void connection.reload()} />,
                },
                { value: 'tables', label: 'Tables', panel: () => <SchemaExplorer connection_id={id} /> },
              ]}
            />
          </Page>
        )}
      </Match>
      <Match when={connection.problem()?.code === 'not_found'}>
        <EmptyState icon="database" title={WORDS.not_found} action={<LinkButton href="/connections">{WORDS.title}</LinkButton>} />
      </Match>
      <Match when={connection.problem()}>
        {(problem) => <ProblemNotice problem={problem()} onRetry={() => void connection.reload()} />}
      </Match>
    </Choose>
  );
}
