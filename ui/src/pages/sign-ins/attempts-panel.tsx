import { createSignal, Show } from 'solid-js';
import { STEP_CHOICES } from '#core/contract/identity/oauth.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { Checkbox } from '#ui/src/components/form/choice.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { DataTable } from '#ui/src/components/table/data-table.tsx';
import { Ago } from '#ui/src/components/time.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import './sign-ins.css';

const SHOWN = 50;

/** The sign-in steps of clients as they happen, with the reasons of failures, which clients do not report. */
export function AttemptsPanel() {
  const [failed_only, setFailedOnly] = createSignal(false);
  const list = useQuery((read) => read('oauth_attempts.list', { limit: SHOWN, ...(failed_only() ? { success: false } : {}) }), {
    watch: failed_only,
  });
  return (
    <Panel
      title="Sign-in attempts"
      lead="The last 500 sign-ins of MCP clients and people, step by step, with what was refused. Look here when a client only says that it could not connect."
      flush
      actions={<Checkbox label="Failures only" checked={failed_only()} onChange={setFailedOnly} />}
    >
      <DataTable
        label="Sign-in attempts"
        list={list}
        key={(row) => row.id}
        columns={[
          { id: 'when', head: 'When', cell: (row) => <Ago iso={row.timestamp} /> },
          { id: 'client', head: 'Client', cell: (row) => row.client || row.client_id },
          { id: 'step', head: 'Step', cell: (row) => STEP_CHOICES[row.step].label },
          {
            id: 'result',
            head: 'Result',
            cell: (row) => (
              <Show when={row.reason} fallback={<Badge tone="good">OK</Badge>}>
                {(reason) => <span class="sign-in-reason">{reason()}</span>}
              </Show>
            ),
          },
          { id: 'person', head: 'Person', narrow: 'hide', cell: (row) => row.person ?? '' },
        ]}
        empty={
          <EmptyState icon="link" title="No attempts yet">
            <p>Add the MCP address to a client. Each step of its sign-in appears here at once.</p>
          </EmptyState>
        }
      />
    </Panel>
  );
}
