import type { Session } from '#core/contract/identity/auth.ts';
import { Show } from 'solid-js';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { DataTable } from '#ui/src/components/table/data-table.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { Ago } from '#ui/src/components/time.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { deviceOf } from './account-device.ts';
import { useAct } from '#ui/src/components/use-act.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { WORDS } from './words.ts';

/** Where the administrator is signed in, and the way to end that. */
export function Sessions() {
  const { call, dialogs } = useKernel();
  const { act } = useAct();
  const list = useQuery((read) => read('auth.sessions', {}));
  const others = () => (list.data()?.items ?? []).filter(({ current }) => !current);

  const end = (sessions: readonly Session[], said: string) =>
    act(() => Promise.all(sessions.map(({ id }) => call('auth.revoke_session', { id }))), said);
  const endOne = async (session: Session) => {
    const agreed = await dialogs.confirm({
      title: WORDS.revoke_title(deviceOf(session.user_agent)),
      text: WORDS.revoke_text,
      action: WORDS.revoke,
      danger: true,
    });
    if (agreed) await end([session], WORDS.revoked);
  };
  const endOthers = async () => {
    const sessions = others();
    const agreed = await dialogs.confirm({
      title: WORDS.end_others_title(sessions.length),
      goes: sessions.map(({ user_agent, ip }) => `${deviceOf(user_agent)}${ip === null ? '' : `, ${ip}`}`),
      action: WORDS.end_others,
      danger: true,
    });
    if (agreed) await end(sessions, WORDS.others_ended(sessions.length));
  };

  return (
    <Panel
      title={WORDS.sessions}
      lead={WORDS.sessions_lead}
      flush
      actions={
        <Show when={others().length > 0}>
          <Button size="small" onPress={() => void endOthers()}>
            {WORDS.end_others}
          </Button>
        </Show>
      }
    >
      <DataTable
        label={WORDS.sessions}
        list={list}
        key={(row) => row.id}
        columns={[
          {
            id: 'device',
            head: WORDS.device,
            cell: (row) => (
              <span class="account-device" title={row.user_agent ?? ''}>
                {deviceOf(row.user_agent)}
                <span class="account-seen small faint">
                  <Ago iso={row.last_seen_at} />
                </span>
              </span>
            ),
          },
          {
            id: 'address',
            head: WORDS.address,
            narrow: 'hide',
            cell: (row) => <span class="mono small">{row.ip ?? ''}</span>,
          },
          {
            id: 'seen',
            head: WORDS.seen,
            narrow: 'hide',
            cell: (row) => <Ago iso={row.last_seen_at} />,
            sort: (row) => row.last_seen_at,
          },
          { id: 'since', head: WORDS.since, narrow: 'hide', cell: (row) => <Ago iso={row.created_at} /> },
        ]}
        actions={(row) =>
          row.current ? (
            <Badge tone="good">{WORDS.this_one}</Badge>
          ) : (
            <Button size="small" kind="quiet" onPress={() => void endOne(row)}>
              {WORDS.revoke}
            </Button>
          )
        }
        empty={<EmptyState title={WORDS.sessions} />}
      />
    </Panel>
  );
}
