import { createSignal, Show } from 'solid-js';
import type { Output } from '#core/contract/index.ts';
import { DELIVERY_CHOICES, type Notice, NoticeDraft, OLD_SECRET_HOURS } from '#core/contract/observe/notices.ts';
import { StatusDot } from '#ui/src/components/badge.tsx';
import { DialogOf } from '#ui/src/components/dialog-of.tsx';
import { useAct } from '#ui/src/components/use-act.ts';
import type { RecordKind } from '#ui/src/features/records/record-form.tsx';
import { RecordPanel } from '#ui/src/features/records/record-panel.tsx';
import { fieldColumn } from '#ui/src/fields/field-column.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { DELIVERY_TONES, DeliveryLog } from './delivery-log.tsx';
import { outcomeOf } from './outcome.ts';

type Created = Output<'notices.create'>;
type Draft = Omit<NoticeDraft, 'enabled'>;

const WEBHOOKS: RecordKind<Notice, Draft, Created> = {
  type: 'notice',
  noun: 'webhook',
  nameOf: ({ name }) => name,
  list: (read, skip, limit) => read('notices.list', { skip, limit }),
  schema: NoticeDraft,
  blank: { name: '', url: '', events: ['deploy', 'rollback', 'host_gone', 'certificate'] },
  toValues: ({ name, url, events }) => ({ name, url, events }),
  create: (call, values) => call('notices.create', values),
  update: (call, values, { id, version }) => call('notices.update', { id, version, ...values }),
  enable: (call, enabled, { id, version }) => call('notices.update', { id, version, enabled }),
  remove: (call, { id }) => call('notices.delete', { id }),
  removal: { verb: 'Delete', text: () => 'Its delivery log is deleted too, and pending events are not sent.' },
};

/** Webhooks, each with its delivery log. */
export function WebhooksPanel() {
  const { call } = useKernel();
  const { act, ask } = useAct();
  const [logged, setLogged] = createSignal<Notice>();
  const test = (notice: Notice) =>
    act(
      () => call('notices.test', { id: notice.id }),
      outcomeOf((status) => `${notice.name} answered ${status}.`),
    );
  const rotate = ({ id, name }: Notice, show: (created: Created) => void) =>
    ask(
      {
        title: `Rotate the secret of ${name}?`,
        text: `You get a new secret. For ${OLD_SECRET_HOURS} hours events are signed with both, so the receiver has time to switch.`,
        action: 'Rotate secret',
        danger: false,
      },
      async () => show(await call('notices.rotate_secret', { id })),
      `Secret of ${name} rotated.`,
    );
  return (
    <>
      <RecordPanel
        of={WEBHOOKS}
        title="Webhooks"
        lead="Sluice sends events to these addresses, signed according to Standard Webhooks, and retries for a day."
        icon="bolt"
        new_title="New webhook"
        empty={{
          title: 'No webhooks yet',
          text: 'Notify a chat, a pager or a workflow about deploys, lost hosts and locked sign-ins.',
        }}
        columns={[
          fieldColumn(NoticeDraft, 'name'),
          fieldColumn(NoticeDraft, 'url', { narrow: 'hide' }),
          fieldColumn(NoticeDraft, 'events', { narrow: 'hide' }),
          {
            id: 'last',
            head: 'Last delivery',
            cell: (row) => (
              <Show when={row.enabled} fallback={<StatusDot tone="plain" label="Disabled" />}>
                <Show when={row.last_delivery} fallback={<span class="soft">None yet</span>}>
                  {(last) => <StatusDot tone={DELIVERY_TONES[last().status]} label={DELIVERY_CHOICES[last().status].label} />}
                </Show>
              </Show>
            ),
          },
        ]}
        actions={(notice, show) => [
          { label: 'Send test event', icon: 'bolt', onSelect: () => void test(notice) },
          { label: 'Rotate secret', icon: 'key', onSelect: () => void rotate(notice, show) },
          { label: 'Show deliveries', icon: 'clock', onSelect: () => setLogged(notice) },
        ]}
        secrets={{
          title: 'Signing secret',
          encrypted: true,
          secrets: ({ secret }) => [{ label: 'Secret', value: secret }],
          children: () => <p class="small soft">The receiver verifies the header webhook-signature with this secret.</p>,
        }}
      />
      <DialogOf of={logged()} title={({ name }) => `Deliveries to ${name}`} size="wide" onClose={() => setLogged(undefined)}>
        {(notice) => <DeliveryLog notice={notice} />}
      </DialogOf>
    </>
  );
}
