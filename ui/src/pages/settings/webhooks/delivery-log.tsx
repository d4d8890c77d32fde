import { Show } from 'solid-js';
import { DELIVERY_CHOICES, EVENT_CHOICES, type Notice } from '#core/contract/observe/notices.ts';
import { StatusDot } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { DataTable } from '#ui/src/components/table/data-table.tsx';
import { Ago, In } from '#ui/src/components/time.tsx';
import { useAct } from '#ui/src/components/use-act.ts';
import { useQuery } from '#ui/src/components/use-query.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { labelOf } from '#core/contract/marks.ts';
import { outcomeOf } from './outcome.ts';

const SHOWN = 100;
export const DELIVERY_TONES = { waiting: 'warning', delivered: 'good', failed: 'bad' } as const;

/** What was sent to a webhook, newest first. */
export function DeliveryLog(props: { notice: Notice }) {
  const { call } = useKernel();
  const { act } = useAct();
  const log = useQuery((read) => read('notices.deliveries', { id: props.notice.id, limit: SHOWN }));
  const again = (id: string, delivery_id: string) =>
    act(
      () => call('notices.redeliver', { id, delivery_id }),
      outcomeOf(() => 'Sent again.'),
    );
  return (
    <DataTable
      label="Deliveries"
      list={log}
      key={({ id }) => id}
      columns={[
        { id: 'event', head: 'Event', cell: ({ event }) => (event === 'test' ? 'Test' : labelOf(EVENT_CHOICES, event)) },
        {
          id: 'status',
          head: 'Status',
          cell: (row) => (
            <span title={row.error ?? undefined}>
              <StatusDot tone={DELIVERY_TONES[row.status]} label={DELIVERY_CHOICES[row.status].label} />
              <Show when={row.error}>{(reason) => <span class="small soft"> {reason()}</span>}</Show>
            </span>
          ),
        },
        { id: 'attempts', head: 'Attempts', narrow: 'hide', cell: (row) => <span class="num">{row.attempts}</span> },
        { id: 'created_at', head: 'Created', cell: (row) => <Ago iso={row.created_at} /> },
        {
          id: 'next',
          head: 'Next attempt',
          narrow: 'hide',
          cell: (row) => <Show when={row.next_attempt_at}>{(iso) => <In iso={iso()} />}</Show>,
        },
      ]}
      actions={(row) => (
        <Button size="small" kind="quiet" onPress={() => again(props.notice.id, row.id)}>
          Send again
        </Button>
      )}
      empty={
        <EmptyState icon="clock" title="No deliveries yet">
          <p>Every event that is sent here is listed with its result.</p>
        </EmptyState>
      }
    />
  );
}
