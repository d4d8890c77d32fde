import { type JSX, Show } from 'solid-js';
import type { CallerStats } from '#core/contract/observe/metrics.ts';
import type { CallerKey } from '#core/contract/observe/metric-ranges.ts';
import { NoCalls } from './no-calls.tsx';
import { Link } from '#ui/src/components/link.tsx';
import { type Column, DataTable } from '#ui/src/components/table/data-table.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { sessionsHref } from '#ui/src/kernel/metrics.ts';
import { count, percent } from '#ui/src/kernel/numbers.ts';
import { bytes, duration } from '#ui/src/kernel/words.ts';
import { CALLER_WORDS } from './words.ts';

/** Who called, the most active first. A row shows the calls of one of them. */
export function CallerTable(props: {
  by: CallerKey;
  rows: readonly CallerStats[] | undefined;
  current: string;
  onOpen: (key: string) => void;
  actions: JSX.Element;
}) {
  const words = () => CALLER_WORDS[props.by];
  const columns: Column<CallerStats>[] = [
    {
      id: 'name',
      head: 'Name',
      sort: ({ name, key }) => name ?? key ?? '',
      cell: (row) => (
        <Show when={row.name ?? row.key} fallback={<span class="faint">{words().none}</span>}>
          {(text) => <span title={row.key ?? ''}>{text()}</span>}
        </Show>
      ),
    },
    { id: 'calls', head: 'Calls', num: ({ calls }) => calls, as: count },
    {
      id: 'errors',
      head: 'Errors',
      align: 'end',
      sort: ({ errors }) => errors,
      cell: (row) => <span classList={{ 'metrics-bad': row.errors > 0, faint: row.errors === 0 }}>{count(row.errors)}</span>,
    },
    { id: 'rate', head: 'Error rate', narrow: 'hide', num: ({ error_rate }) => error_rate, as: percent },
    ...(['p50_ms', 'p95_ms', 'p99_ms'] as const).map((field): Column<CallerStats> => ({
      id: field,
      head: field.slice(0, 3),
      align: 'end',
      narrow: 'hide',
      sort: (row) => row[field],
      cell: (row) => duration(row[field]),
    })),
    { id: 'bytes', head: 'Sent', narrow: 'hide', num: (row) => row.bytes, as: bytes },
    { id: 'last', head: 'Last call', align: 'end', narrow: 'hide', time: ({ last_called_at }) => last_called_at },
    {
      id: 'log',
      head: 'Log',
      align: 'end',
      cell: (row) => <Show when={row.key}>{(text) => <Link href={sessionsHref(props.by, text())}>Sessions</Link>}</Show>,
    },
  ];
  return (
    <Panel
      title={words().title}
      lead="Select a row to see only its calls."
      count={props.rows?.length}
      actions={props.actions}
      flush
    >
      <DataTable
        label={words().title}
        rows={props.rows}
        columns={columns}
        key={({ key }) => key ?? ''}
        onOpen={({ key }) => {
          if (key !== null) props.onOpen(key);
        }}
        current={({ key }) => key !== null && key === props.current}
        empty={<NoCalls />}
      />
    </Panel>
  );
}
