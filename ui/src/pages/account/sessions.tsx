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
import { plural } from '#ui/src/kernel/words.ts';

/** Where the administrator is signed in, and the way to end that. */
export function Sessions() {
  const { call } = useKernel();
  const { ask } = useAct();
  const list = useQuery((read) => read('auth.sessions', {}));
  const others = () => (list.data()?.items ?? []).filter(({ current }) => !current);

  const end = ({ id }: Session) => call('auth.revoke_session', { id });
  const endOne = (session: Session) =>
    ask(
      { title: `End the session on ${deviceOf(session.user_agent)}?`, text: 'It is signed out immediately.', action: 'End' },
      () => end(session),
      'The session has ended.',
    );
  const endOthers = () => {
    const sessions = others();
    const question = {
      title: `End ${plural(sessions.length, 'other session')}?`,
      goes: sessions.map(({ user_agent, ip }) => `${deviceOf(user_agent)}${ip === null ? '' : `, ${ip}`}`),
      action: 'End all others',
    };
    return ask(question, () => Promise.all(sessions.map(end)), `${plural(sessions.length, 'session')} ended.`);
  };

  return (
    <Panel
      title="Sessions"
      lead="Devices where you are signed in."
      flush
      actions={
        <Show when={others().length > 0}>
          <Button size="small" onPress={() => endOthers()}>
            End all others
          </Button>
        </Show>
      }
    >
      <DataTable
        label="Sessions"
        list={list}
        key={(row) => row.id}
        columns={[
          {
            id: 'device',
            head: 'Device',
            cell: (row) => (
              <span class="lines" title={row.user_agent ?? ''}>
                {deviceOf(row.user_agent)}
                <span class="account-seen small faint">
                  <Ago iso={row.last_seen_at} />
                </span>
              </span>
            ),
          },
          {
            id: 'address',
            head: 'Address',
            narrow: 'hide',
            cell: (row) => <span class="mono small">{row.ip ?? ''}</span>,
          },
          { id: 'seen', head: 'Last seen', narrow: 'hide', time: (row) => row.last_seen_at },
          { id: 'since', head: 'Since', narrow: 'hide', cell: (row) => <Ago iso={row.created_at} /> },
        ]}
        actions={(row) =>
          row.current ? (
            <Badge tone="good">This device</Badge>
          ) : (
            <Button size="small" kind="quiet" onPress={() => endOne(row)}>
              End
            </Button>
          )
        }
        empty={<EmptyState title="Sessions" />}
      />
    </Panel>
  );
}
