import { Show } from 'solid-js';
import { CLIENT_CHOICES, GRANT_CHOICES, type Grant } from '#core/contract/identity/oauth.ts';
import type { RecordList } from '#ui/src/features/records/record-form.tsx';
import { RecordListPanel } from '#ui/src/features/records/record-panel.tsx';

const grants = (mine: boolean): RecordList<Grant> => ({
  type: 'grant',
  noun: 'client',
  nameOf: ({ client }) => client.name,
  list: (read, skip, limit) => read('grants.list', { mine, skip, limit }),
  remove: (call, { id }) => call('grants.delete', { id }),
  removal: {
    verb: 'Revoke',
    text: ({ person, kind }) =>
      `Its tokens${mine ? '' : ` for ${person.username}`} stop working within a second. ${afterwards(kind, mine)}`,
  },
});

function afterwards(kind: Grant['kind'], mine: boolean): string {
  if (kind === 'assertion') return 'It can connect again while the identity provider allows it.';
  return mine ? 'You can sign in again.' : 'The person can sign in again.';
}

/** Clients that people signed in with, or only those of the signed-in person; each can be revoked. */
export function GrantsPanel(props: { mine?: boolean }) {
  return (
    <RecordListPanel
      of={grants(props.mine === true)}
      title={props.mine ? 'Your connected clients' : 'Connected clients'}
      lead={
        props.mine
          ? 'MCP clients that you signed in with.'
          : 'MCP clients that people signed in with. Revoking one stops its tokens within a second.'
      }
      icon="link"
      empty={{ title: 'No clients yet', text: 'A client appears here when someone signs in with it.' }}
      columns={[
        {
          id: 'client',
          head: 'Client',
          cell: (row) => (
            <div>
              <div>{row.client.name}</div>
              <div class="small soft">{row.client.host ?? CLIENT_CHOICES[row.client.kind].label}</div>
              <Show when={row.kind === 'assertion'}>
                <div class="small soft">{GRANT_CHOICES.assertion.label}</div>
              </Show>
            </div>
          ),
          sort: ({ client }) => client.name,
        },
        ...(props.mine ? [] : [{ id: 'person', head: 'Person', text: ({ person }: Grant) => person.username }]),
        {
          id: 'scopes',
          head: 'Permissions',
          narrow: 'hide' as const,
          cell: (row: Grant) => (
            <Show when={row.scopes.length > 0} fallback="Everything the person can use">
              {row.scopes.join(', ')}
            </Show>
          ),
        },
        { id: 'used', head: 'Last used', time: ({ last_used_at }) => last_used_at },
      ]}
    />
  );
}
