import { createSignal, Show } from 'solid-js';
import { type Candidate, MOST_CANDIDATES } from '#core/contract/deploy/candidates.ts';
import { Button } from '#ui/src/components/button.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { Menu } from '#ui/src/components/menu.tsx';
import { DataTable } from '#ui/src/components/table/data-table.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { CandidateTexts } from '#ui/src/features/connect/candidate-texts.tsx';
import type { Deployment } from '#ui/src/features/deploy/deployment.ts';
import { exactTime, minuteTime } from '#ui/src/kernel/dates.ts';
import { useAct } from '#ui/src/components/use-act.ts';
import { DialogOf } from '#ui/src/components/dialog-of.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { plural } from '#ui/src/kernel/words.ts';
import { NewCandidate } from './new-candidate.tsx';

/** Candidates, which are served beside the live version to callers with the candidate's token. */
export function CandidatesPanel(props: {
  deployment: Deployment;
  creating: boolean;
  onCreating: (open: boolean) => void;
  onCanary: (candidate: string) => void;
}) {
  const { call, session } = useKernel();
  const { ask } = useAct();
  const list = useQuery((read) => read('candidates.list', {}), { watch: () => props.deployment.status.data()?.canary?.status });
  const [shown, setShown] = createSignal<Candidate>();
  const canary = () => props.deployment.status.data()?.canary ?? null;
  const isServed = (row: Candidate) => canary()?.status === 'running' && canary()?.candidate === row.candidate;
  const remove = async ({ candidate }: Candidate) => {
    const question = {
      title: 'Delete this candidate?',
      text: 'Its URL and token stop working at once. The working copy does not change.',
      action: 'Delete candidate',
    };
    await ask(question, () => call('candidates.delete', { id: candidate }), 'Candidate deleted.');
    await list.reload();
  };
  const full = () => (list.data()?.total ?? 0) >= MOST_CANDIDATES;
  const add = () => (
    <Button kind="primary" icon="plus" needs="candidates.create" blocked={full()} onPress={() => props.onCreating(true)}>
      New candidate
    </Button>
  );
  return (
    <div class="stack">
      <Show when={(list.data()?.total ?? 0) > 0 && session.may('candidates.create')}>
        <div class="row">
          {add()}
          <Show when={full()}>
            <span class="small soft">{`There can be ${MOST_CANDIDATES} at a time. Delete one to create another.`}</span>
          </Show>
        </div>
      </Show>
      <DataTable
        label="Candidates"
        rows={list.data()?.items}
        query={list}
        key={(row) => row.candidate}
        current={isServed}
        columns={[
          {
            id: 'note',
            head: 'Note',
            cell: (row) => <span class="cell-text">{row.note ?? <span class="soft">No note</span>}</span>,
            width: '34%',
          },
          { id: 'token', head: 'Token', narrow: 'hide', cell: (row) => <span class="mono small">{row.token_prefix}…</span> },
          {
            id: 'contains',
            head: 'Contains',
            narrow: 'medium',
            cell: (row) => <span class="num small soft">{plural(row.counts.tools, 'tool')}</span>,
          },
          { id: 'by', head: 'By', narrow: 'hide', text: (row) => row.actor.name },
          { id: 'when', head: 'Created', narrow: 'hide', time: (row) => row.created_at },
          {
            id: 'expires',
            head: 'Expires',
            cell: (row) => (
              <time datetime={row.expires_at} title={exactTime(row.expires_at)}>
                {minuteTime(row.expires_at)}
              </time>
            ),
            sort: (row) => row.expires_at,
          },
        ]}
        actions={(row) => (
          <Menu
            label={`More for the candidate ${row.note ?? row.token_prefix}`}
            size="small"
            items={[
              { label: 'Connect a client', icon: 'link' as const, onSelect: () => setShown(row) },
              canary()?.status !== 'running' && {
                label: 'Start a canary with it',
                icon: 'rocket' as const,
                needs: 'deploy.run' as const,
                onSelect: () => props.onCanary(row.candidate),
              },
              !isServed(row) && {
                label: 'Delete',
                icon: 'trash' as const,
                danger: true,
                needs: 'candidates.delete' as const,
                onSelect: () => void remove(row),
              },
            ]}
          />
        )}
        empty={
          <EmptyState icon="rocket" title="No candidates" action={add()}>
            <p>Freeze the working copy and try it with a real client before you deploy it. Three at a time.</p>
          </EmptyState>
        }
      />
      <NewCandidate
        open={props.creating}
        onClose={() => props.onCreating(false)}
        onCreated={() => void list.reload()}
        onRefused={() => void list.reload()}
      />
      <DialogOf of={shown()} title="Connect to the candidate" onClose={() => setShown(undefined)}>
        {(row) => (
          <div class="stack">
            <p class="small soft">{`Replace YOUR_TOKEN with its token, which begins with ${row.token_prefix}.`}</p>
            <CandidateTexts candidate={row} />
          </div>
        )}
      </DialogOf>
    </div>
  );
}
