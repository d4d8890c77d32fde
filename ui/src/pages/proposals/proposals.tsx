import { Match, Show, Switch } from 'solid-js';
import { optionsOf } from '#ui/src/fields/kind.ts';
import { PROPOSAL_CHOICES, type ProposalItem, ProposalStatus } from '#core/contract/proposals.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { DataTable } from '#ui/src/components/table/data-table.tsx';
import { FilterBar } from '#ui/src/components/table/filter-bar.tsx';
import { Ago } from '#ui/src/components/time.tsx';
import { useFollow } from '#ui/src/components/use-query.ts';
import { usePages } from '#ui/src/components/use-pages.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { num } from '#ui/src/kernel/numbers.ts';
import { choice, createSearchParams } from '#ui/src/kernel/route/search-params.ts';
import { plural } from '#ui/src/kernel/words.ts';
import { statusLabel, TONES } from './words.ts';
import './proposals.css';

const STATES = ['all', ...ProposalStatus.options] as const;

/** What agents ask for, the open ones first. */
export function Proposals() {
  const { call, router, session } = useKernel();
  const filters = createSearchParams(router, { state: choice(STATES) });
  const state = () => filters.get('state') ?? 'open';
  const pages = usePages(
    (skip, limit, signal) => {
      const status = state();
      return call('proposals.list', { skip, limit, ...(status === 'all' ? {} : { state: status }) }, signal);
    },
    () => [state()],
  );
  useFollow('proposals.list', pages.reload);

  return (
    <Page title="Proposals" lead="Changes that agents ask for. Approving one changes the working copy; nothing is deployed.">
      <FilterBar active={filters.active('state')} onClear={() => filters.clear('state')}>
        <Select
          label="State"
          hide_label
          options={[...optionsOf(PROPOSAL_CHOICES), { value: 'all', label: 'All proposals' }]}
          value={state()}
          onChange={(value: string) => {
            const chosen = STATES.find((known) => known === value);
            filters.set({ state: chosen === 'open' ? undefined : chosen });
          }}
        />
      </FilterBar>
      <DataTable
        label="Proposals"
        pages={pages}
        key={({ id }) => id}
        href={({ id }) => `/proposals/${id}`}
        muted={({ status }) => status === 'rejected'}
        columns={[
          { id: 'title', head: 'Proposal', cell: (row) => <Title row={row} /> },
          {
            id: 'status',
            head: 'State',
            width: '7rem',
            cell: (row) => <Badge tone={TONES[row.status]}>{statusLabel(row)}</Badge>,
          },
          {
            id: 'changes',
            head: 'Changes',
            width: '7rem',
            align: 'end',
            narrow: 'medium',
            cell: (row) => <span class="num">{num(row.operation_count)}</span>,
          },
          {
            id: 'updated',
            head: 'Updated',
            width: '9rem',
            align: 'end',
            narrow: 'hide',
            cell: (row) => <Ago iso={row.closed_at ?? row.updated_at} />,
          },
        ]}
        empty={
          <Switch>
            <Match when={state() === 'open'}>
              <EmptyState
                icon="message"
                title="No proposals to review"
                action={
                  <Show when={session.may('agent_tokens.create')}>
                    <LinkButton href="/agents">Create agent token</LinkButton>
                  </Show>
                }
              >
                <p>
                  Give an agent a token with the permission Propose. What it changes waits here until a person approves it.
                  Dangerous changes of people wait here too if they need two (Settings → Security).
                </p>
              </EmptyState>
            </Match>
            <Match when={state() !== 'open'}>
              <EmptyState icon="search" title="No proposals in this state" />
            </Match>
          </Switch>
        }
      />
    </Page>
  );
}

function Title(props: { row: ProposalItem }) {
  return (
    <span class="proposal-title">
      <span>{props.row.title}</span>
      <span class="small faint">
        {props.row.author.name}
        <Show when={props.row.comment_count > 0}>{` · ${plural(props.row.comment_count, 'comment')}`}</Show>
      </span>
    </span>
  );
}
