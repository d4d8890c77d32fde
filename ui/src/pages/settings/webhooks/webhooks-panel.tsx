import { createSignal, Show } from 'solid-js';
import { type Notice, OLD_SECRET_HOURS } from '#core/contract/notices.ts';
import { StatusDot } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { Dialog } from '#ui/src/components/dialog.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { enableItem, Menu } from '#ui/src/components/menu.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { SecretOnce } from '#ui/src/components/show/secret-once.tsx';
import { DataTable } from '#ui/src/components/table/data-table.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { useAct } from '#ui/src/components/use-act.ts';
import { DialogOf } from '#ui/src/components/dialog-of.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { DeliveryLog } from './delivery-log.tsx';
import { EditWebhook, NewWebhook } from './webhook-form.tsx';
import { eventWord, outcomeOf, STATUS } from './words.ts';

const MOST = 100;

/** Webhooks: created, tested, changed and deleted, each with its delivery log. */
export function WebhooksPanel() {
  const { call, toasts } = useKernel();
  const { act, ask } = useAct();
  const list = useQuery((read) => read('notices.list', { limit: MOST }));
  const [adding, setAdding] = createSignal(false);
  const [editing, setEditing] = createSignal<Notice>();
  const [logged, setLogged] = createSignal<Notice>();
  const [secret, setSecret] = createSignal<string>();

  const test = (notice: Notice) =>
    act(
      () => call('notices.test', { id: notice.id }),
      outcomeOf((status) => `${notice.name} answered ${status}.`),
    );
  const enable = ({ id, name, version, enabled }: Notice) =>
    act(() => call('notices.update', { id, version, enabled: !enabled }), `${name} ${enabled ? 'disabled' : 'enabled'}.`);
  const rotate = ({ id, name }: Notice) =>
    ask(
      {
        title: `Rotate the secret of ${name}?`,
        text: `You get a new secret. For ${OLD_SECRET_HOURS} hours events are signed with both, so the receiver has time to switch.`,
        action: 'Rotate secret',
        danger: false,
      },
      async () => setSecret((await call('notices.rotate_secret', { id })).secret),
      `Secret of ${name} rotated.`,
    );
  const remove = ({ id, name }: Notice) =>
    ask(
      {
        title: `Delete the webhook “${name}”?`,
        text: 'Its delivery log is deleted too, and pending events are not sent.',
        action: 'Delete webhook',
      },
      () => call('notices.delete', { id }),
      `${name} deleted.`,
    );

  return (
    <Panel
      title="Webhooks"
      lead="Sluice sends events to these addresses, signed according to Standard Webhooks, and retries for a day."
      flush
      actions={
        <Button size="small" icon="plus" onPress={() => setAdding(true)}>
          New webhook
        </Button>
      }
    >
      <DataTable
        label="Webhooks"
        list={list}
        key={({ id }) => id}
        muted={({ enabled }) => !enabled}
        columns={[
          { id: 'name', head: 'Name', text: ({ name }) => name },
          { id: 'url', head: 'URL', narrow: 'hide', cell: (row) => <span class="mono small truncate">{row.url}</span> },
          { id: 'events', head: 'Events', narrow: 'hide', cell: ({ events }) => events.map(eventWord).join(', ') },
          {
            id: 'last',
            head: 'Last delivery',
            cell: (row) => (
              <Show when={row.enabled} fallback={<StatusDot tone="plain" label="Disabled" />}>
                <Show when={row.last_delivery} fallback={<span class="soft">None yet</span>}>
                  {(last) => <StatusDot tone={STATUS[last().status].tone} label={STATUS[last().status].label} />}
                </Show>
              </Show>
            ),
          },
        ]}
        actions={(notice) => (
          <Menu
            label={`More for ${notice.name}`}
            size="small"
            items={[
              { label: 'Edit', icon: 'sliders', onSelect: () => setEditing(notice) },
              { label: 'Send test event', icon: 'bolt', onSelect: () => void test(notice) },
              { label: 'Rotate secret', icon: 'key', onSelect: () => void rotate(notice) },
              { label: 'Show deliveries', icon: 'clock', onSelect: () => setLogged(notice) },
              enableItem(notice.enabled, () => void enable(notice)),
              'line',
              { label: 'Delete', icon: 'trash', danger: true, onSelect: () => void remove(notice) },
            ]}
          />
        )}
        empty={
          <EmptyState
            icon="bolt"
            title="No webhooks yet"
            action={
              <Button icon="plus" onPress={() => setAdding(true)}>
                New webhook
              </Button>
            }
          >
            <p>Notify a chat, a pager or a workflow about deploys, lost hosts and locked sign-ins.</p>
          </EmptyState>
        }
      />
      <Dialog open={adding()} title="New webhook" onClose={() => setAdding(false)}>
        <NewWebhook
          onDone={({ secret: made }) => {
            setAdding(false);
            setSecret(made);
          }}
          onCancel={() => setAdding(false)}
        />
      </Dialog>
      <DialogOf of={editing()} title={({ name }) => `Edit ${name}`} onClose={() => setEditing(undefined)}>
        {(notice) => (
          <EditWebhook
            notice={notice}
            onDone={({ name }) => {
              setEditing(undefined);
              toasts.show(`Saved “${name}”.`, 'good');
            }}
            onCancel={() => setEditing(undefined)}
          />
        )}
      </DialogOf>
      <DialogOf of={logged()} title={({ name }) => `Deliveries to ${name}`} size="wide" onClose={() => setLogged(undefined)}>
        {(notice) => <DeliveryLog notice={notice} />}
      </DialogOf>
      <SecretOnce
        of={secret()}
        title="Signing secret"
        encrypted
        secrets={(value) => [{ label: 'Secret', value }]}
        onClose={() => setSecret(undefined)}
      >
        {() => <p class="small soft">The receiver verifies the header webhook-signature with this secret.</p>}
      </SecretOnce>
    </Panel>
  );
}
