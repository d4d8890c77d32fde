import { Show } from 'solid-js';
import type { Notice } from '#core/contract/notices.ts';
import { StatusDot } from '#ui/src/components/badge.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { DataTable } from '#ui/src/components/table/data-table.tsx';
import { Ago } from '#ui/src/components/time.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { eventWord, STATUS } from './words.ts';

const SHOWN = 100;

/** What was sent to a webhook, newest first. */
export function DeliveryLog(props: { notice: Notice }) {
  const log = useQuery((read) => read('notices.deliveries', { id: props.notice.id, limit: SHOWN }));
  return (
    <DataTable
      label="Deliveries"
      list={log}
      key={({ id }) => id}
      columns={[
        { id: 'event', head: 'Event', cell: ({ event }) => eventWord(event) },
        {
          id: 'status',
          head: 'Status',
          cell: (row) => (
            <span title={row.error ?? undefined}>
              <StatusDot tone={STATUS[row.status].tone} label={STATUS[row.status].label} />
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
          cell: (row) => <Show when={row.next_attempt_at}>{(iso) => <Ago iso={iso()} />}</Show>,
        },
      ]}
      empty={
        <EmptyState icon="clock" title="No deliveries yet">
          <p>Every event that is sent here is listed with its result.</p>
        </EmptyState>
      }
    />
  );
}
