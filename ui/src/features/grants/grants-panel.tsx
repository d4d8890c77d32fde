import { Show } from 'solid-js';
import type { Grant } from '#core/contract/identity/oauth.ts';
import { IconButton } from '#ui/src/components/button.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { DataTable } from '#ui/src/components/table/data-table.tsx';
import { useCachedPages } from '#ui/src/components/use-pages.ts';
import { useAct } from '#ui/src/components/use-act.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { KIND_WORDS } from './words.ts';

/** Clients that people signed in with, or only one's own; and the end of each. */
export function GrantsPanel(props: { mine?: boolean }) {
  const { call } = useKernel();
  const { ask } = useAct();
  const list = useCachedPages((read, skip, limit) => read('grants.list', { mine: props.mine === true, skip, limit }));

  const revoke = async ({ id, client, person }: Grant) => {
    await ask(
      {
        title: `Revoke ${client.name} for ${person.username}?`,
        text: 'Its tokens stop working within a second. The person can sign in again.',
        action: 'Revoke',
      },
      () => call('grants.delete', { id }),
      `${client.name} was revoked`,
    );
  };
  const title = () => (props.mine === true ? 'Your connected clients' : 'Connected clients');

  return (
    <Panel
      title={title()}
      lead={
        props.mine === true
          ? 'MCP clients that you signed in with.'
          : 'MCP clients that people signed in with. Revoking one stops its tokens within a second.'
      }
      flush
    >
      <DataTable
        label={title()}
        pages={list}
        key={(row) => row.id}
        columns={[
          {
            id: 'client',
            head: 'Client',
            cell: (row) => (
              <div>
                <div>{row.client.name}</div>
                <div class="small soft">{row.client.host ?? KIND_WORDS[row.client.kind]}</div>
              </div>
            ),
            sort: (row) => row.client.name,
          },
          ...(props.mine === true ? [] : [{ id: 'person', head: 'Person', text: (row: Grant) => row.person.username }]),
          {
            id: 'scopes',
            head: 'Permissions',
            narrow: 'hide' as const,
            cell: (row: Grant) => (
              <Show when={row.scopes.length > 0} fallback="Everything the person may use">
                {row.scopes.join(', ')}
              </Show>
            ),
          },
          { id: 'used', head: 'Last used', time: (row) => row.last_used_at },
        ]}
        actions={(row) => (
          <IconButton icon="trash" size="small" label={`Revoke ${row.client.name}`} onPress={() => revoke(row)} />
        )}
        empty={
          <EmptyState icon="link" title="No clients yet">
            <p>A client appears here once somebody signs in with it.</p>
          </EmptyState>
        }
      />
    </Panel>
  );
}
