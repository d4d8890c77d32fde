import { Show } from 'solid-js';
import type { Grant } from '#core/contract/identity/oauth.ts';
import { IconButton } from '#ui/src/components/button.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { DataTable } from '#ui/src/components/table/data-table.tsx';
import { Ago } from '#ui/src/components/time.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { useAct } from '#ui/src/components/use-act.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { KIND_WORDS, WORDS } from './words.ts';

const MOST = 100;

/** Clients that people signed in with, or only one's own; and the end of each. */
export function GrantsPanel(props: { mine?: boolean }) {
  const { call } = useKernel();
  const { ask } = useAct();
  const list = useQuery((read) => read('grants.list', { mine: props.mine === true, limit: MOST }));

  const revoke = async ({ id, client, person }: Grant) => {
    await ask(
      {
        title: WORDS.revoke_title(client.name, person.username),
        text: WORDS.revoke_text,
        action: WORDS.revoke,
      },
      () => call('grants.delete', { id }),
      WORDS.revoked(client.name),
    );
  };
  const title = () => (props.mine === true ? WORDS.own_title : WORDS.title);

  return (
    <Panel title={title()} lead={props.mine === true ? WORDS.own_lead : WORDS.lead} flush>
      <DataTable
        label={title()}
        list={list}
        key={(row) => row.id}
        columns={[
          {
            id: 'client',
            head: WORDS.client,
            cell: (row) => (
              <div>
                <div>{row.client.name}</div>
                <div class="small soft">{row.client.host ?? KIND_WORDS[row.client.kind]}</div>
              </div>
            ),
            sort: (row) => row.client.name,
          },
          ...(props.mine === true
            ? []
            : [
                {
                  id: 'person',
                  head: WORDS.person,
                  cell: (row: Grant) => row.person.username,
                  sort: (row: Grant) => row.person.username,
                },
              ]),
          {
            id: 'scopes',
            head: WORDS.scopes,
            narrow: 'hide' as const,
            cell: (row: Grant) => (
              <Show when={row.scopes.length > 0} fallback={WORDS.everything}>
                {row.scopes.join(', ')}
              </Show>
            ),
          },
          {
            id: 'used',
            head: WORDS.used,
            cell: (row) => <Ago iso={row.last_used_at} />,
            sort: (row) => row.last_used_at,
          },
        ]}
        actions={(row) => (
          <IconButton icon="trash" size="small" label={`${WORDS.revoke} ${row.client.name}`} onPress={() => void revoke(row)} />
        )}
        empty={
          <EmptyState icon="link" title={WORDS.none_title}>
            <p>{WORDS.none}</p>
          </EmptyState>
        }
      />
    </Panel>
  );
}
