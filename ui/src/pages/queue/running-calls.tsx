import { Show } from 'solid-js';
import { RUN_CHOICES } from '#core/contract/observe/calls.ts';
import type { Output } from '#core/contract/index.ts';
import { Breakable } from '#ui/src/components/show/breakable.tsx';
import { StatusDot } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { ProblemNotice } from '#ui/src/components/notice.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { type Column, DataTable } from '#ui/src/components/table/data-table.tsx';
import { useAct } from '#ui/src/components/use-act.ts';
import { useQuery } from '#ui/src/components/use-query.ts';
import { useNow } from '#ui/src/components/time.tsx';
import { exactTime } from '#ui/src/kernel/dates.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { callerWord } from '#ui/src/kernel/metrics-words.ts';
import { duration } from '#ui/src/kernel/words.ts';

type Running = Output<'calls.running'>['items'][number];

const CLOCK_MS = 1_000;

/** The calls that run now on every host, the longest first, and the way to end one. */
export function RunningCalls() {
  const { call, session } = useKernel();
  const { ask } = useAct();
  const now = useNow(CLOCK_MS);
  const running = useQuery((read) => read('calls.running', {}));
  const cancel = (row: Running) =>
    ask(
      {
        title: `Cancel ${row.name}?`,
        text: 'Its statement is cancelled in the database and the caller gets an error. A commit that was sent is not undone.',
        action: 'Cancel call',
        cancel: 'Keep running',
      },
      () => call('calls.cancel', { id: row.id }),
      'Cancel requested',
    );
  const columns: Column<Running>[] = [
    {
      id: 'name',
      head: 'Called',
      cell: (row) => (
        <span class="stack" data-gap="1">
          <span class="mono long-name">
            <Breakable text={row.name} />
          </span>
          <span class="narrow-only small soft">{RUN_CHOICES[row.state].label}</span>
        </span>
      ),
    },
    {
      id: 'state',
      head: 'State',
      narrow: 'hide',
      cell: (row) => <StatusDot tone={row.state === 'waiting' ? 'warning' : 'info'} label={RUN_CHOICES[row.state].label} />,
    },
    {
      id: 'since',
      head: 'Running for',
      align: 'end',
      cell: (row) => <span title={exactTime(row.since)}>{duration(Math.max(0, now() - Date.parse(row.since)))}</span>,
    },
    {
      id: 'caller',
      head: 'Caller',
      narrow: 'wide',
      cell: (row) => <span class="soft truncate">{callerWord(row) || '–'}</span>,
    },
    { id: 'client', head: 'Client', narrow: 'medium', cell: (row) => <span class="soft long-name">{row.client ?? '–'}</span> },
    { id: 'host', head: 'Host', narrow: 'wide', cell: (row) => <span class="faint mono truncate">{row.host}</span> },
  ];
  return (
    <>
      <Show when={running.problem()}>{(problem) => <ProblemNotice problem={problem()} />}</Show>
      <Show when={(running.data()?.items.length ?? 0) > 0}>
        <Panel title="Running calls" lead="Calls that have run for a quarter of a second or longer." flush>
          <DataTable
            label="Running calls"
            rows={running.data()?.items}
            columns={columns}
            key={({ id }) => id}
            empty={null}
            {...(session.may('calls.cancel')
              ? {
                  actions: (row: Running) => (
                    <Button size="small" kind="quiet" aria-label={`Cancel ${row.name}`} onPress={() => cancel(row)}>
                      Cancel
                    </Button>
                  ),
                }
              : {})}
          />
        </Panel>
      </Show>
    </>
  );
}
