import { createEffect, createSignal, Match, Show, Switch } from 'solid-js';
import type { Proposal } from '#core/contract/proposals.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { passesFocus } from '#ui/src/components/form/passes-focus.ts';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Failed, Notice } from '#ui/src/components/notice.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { useParams } from '#ui/src/components/shell/route-context.ts';
import { Bullets } from '#ui/src/components/show/bullets.tsx';
import { Ago } from '#ui/src/components/time.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { Loaded } from '#ui/src/components/show/loaded.tsx';
import { NotFound } from '#ui/src/components/empty-state.tsx';
import { createMutation } from '#ui/src/kernel/data/mutation.ts';
import { useCommands, useKernel } from '#ui/src/kernel/kernel.ts';
import { capital } from '#ui/src/kernel/words.ts';
import { DecisionDialog } from './decision-dialog.tsx';
import { Review } from './review.tsx';
import { staleOf, takenOf } from './taking.ts';
import { statusLabel, TONES } from './words.ts';
import './proposals.css';

/** One proposal: why, what, what the checks say, and the decision. */
export function ProposalPage() {
  const { id = '' } = useParams();
  const { call, session, toasts } = useKernel();
  const query = useQuery((read) => read('proposals.get', { id }));
  const [deciding, setDeciding] = createSignal<'approve' | 'reject'>();
  const open = () => query.data()?.status === 'open';
  // An agent may add to an open proposal while a person reads it.
  const [read, setRead] = createSignal<number>();
  createEffect(() => {
    if (read() === undefined) setRead(query.data()?.version);
  });
  const changed = () => open() && query.data() !== undefined && query.data()?.version !== read();
  const [left, setLeft] = createSignal<ReadonlySet<number>>(new Set());
  const in_part = () => left().size > 0;
  const taken = () => takenOf(query.data()?.operations ?? [], left());
  const stale = (of: Proposal) => staleOf(of, left());
  const approvable = () => {
    const found = query.data();
    if (found === undefined || !open() || changed() || taken().length === 0) return false;
    // What is left out may be why it does not apply.
    return stale(found).length === 0 && (found.problem === null || in_part());
  };
  /** Why what is being decided cannot be decided any more. */
  const obstacle = () => {
    const found = query.data();
    if (found === undefined) return undefined;
    if (found.status !== 'open')
      return `This proposal was ${found.status} by ${found.closed_by ?? 'someone else'} in the meantime.`;
    if (changed()) return 'This proposal changed while you read it. Close this dialog and review it again.';
    if (deciding() === 'approve' && found.problem !== null && !in_part())
      return 'This proposal cannot be applied any more. Close this dialog to read why.';
    if (deciding() === 'approve' && stale(found).length > 0)
      return 'This proposal is out of date. Close this dialog and bring it up to date.';
    return undefined;
  };
  const rebasing = createMutation(() => call('proposals.rebase', { id }));
  const rebase = async () => {
    const done = await rebasing.run(undefined);
    if (done === undefined) return;
    toasts.show('The proposal is up to date. Review it again.', 'good');
    await query.reload();
    setRead(done.version);
  };
  useCommands([
    {
      id: 'approve-proposal',
      title: 'Approve',
      group: 'This page',
      key: 'a',
      needs: 'proposals.approve',
      enabled: approvable,
      run: () => setDeciding('approve'),
    },
    {
      id: 'reject-proposal',
      title: 'Reject',
      group: 'This page',
      key: 'r',
      needs: 'proposals.reject',
      enabled: open,
      run: () => setDeciding('reject'),
    },
  ]);

  return (
    <Page
      title={query.data()?.title ?? 'Proposal'}
      back={{ href: '/proposals', label: 'Proposals' }}
      badge={<Show when={query.data()}>{(found) => <Badge tone={TONES[found().status]}>{statusLabel(found())}</Badge>}</Show>}
      lead={<Show when={query.data()}>{(found) => <Who proposal={found()} />}</Show>}
      actions={
        <Switch>
          <Match when={open()}>
            <div class="row" ref={passesFocus}>
              <Button icon="close" needs="proposals.reject" aria-keyshortcuts="r" onPress={() => setDeciding('reject')}>
                Reject
              </Button>
              <Button
                kind="primary"
                icon="check"
                needs="proposals.approve"
                aria-keyshortcuts="a"
                blocked={!approvable()}
                onPress={() => setDeciding('approve')}
              >
                {in_part() ? `Approve ${taken().length} of ${query.data()?.operation_count}` : 'Approve'}
              </Button>
            </div>
          </Match>
          <Match when={query.data()?.status === 'approved' && session.may('deploy.run')}>
            <LinkButton href="/deploy" icon="rocket">
              Deploy
            </LinkButton>
          </Match>
        </Switch>
      }
    >
      <Loaded
        of={query}
        rows={5}
        label="Checking the proposal"
        gone={<NotFound icon="message" noun="proposal" list="/proposals" />}
      >
        {(found) => (
          <div class="stack">
            <Show when={changed()}>
              <Notice
                tone="warning"
                title="This proposal changed while you read it"
                action={
                  <Button size="small" icon="check" onPress={() => setRead(found().version)}>
                    I have read it
                  </Button>
                }
              >
                <p>The author added changes to this proposal. Review them, then decide.</p>
              </Notice>
            </Show>
            <Show when={found().stale.length > 0 && found().problem === null}>
              <Notice
                tone="warning"
                title="This proposal is out of date"
                action={
                  <Button
                    size="small"
                    icon="refresh"
                    needs="proposals.rebase"
                    busy={rebasing.busy()}
                    onPress={() => void rebase()}
                  >
                    Bring up to date
                  </Button>
                }
              >
                <Bullets of={found().stale.map(({ message }) => capital(message))} />
                <p>
                  A record that this proposal changes has changed since. You or the author can bring the proposal up to date. Then
                  review it again.
                </p>
              </Notice>
            </Show>
            <Failed of={rebasing} />
            <Show when={found().problem}>
              {(sentence) => (
                <Notice tone="bad" title="This proposal cannot be applied">
                  <Bullets of={found().stale.map(({ message }) => capital(message))} />
                  <p>{sentence()} Reject the proposal, or change the working copy so that it applies again.</p>
                </Notice>
              )}
            </Show>
            <Review proposal={found()} left={left()} onLeft={setLeft} onCommented={() => void query.reload()} />
          </div>
        )}
      </Loaded>
      <Show when={query.data()}>
        {(found) => (
          <DecisionDialog
            proposal={found()}
            version={read() ?? found().version}
            positions={in_part() ? taken().map(({ position }) => position) : undefined}
            deciding={deciding()}
            obstacle={obstacle()}
            onClose={() => setDeciding(undefined)}
            onRefused={() => void query.reload()}
            onDone={() => {
              setDeciding(undefined);
              void query.reload();
            }}
          />
        )}
      </Show>
    </Page>
  );
}

function Who(props: { proposal: Proposal }) {
  const { commands, session } = useKernel();
  return (
    <Show
      when={props.proposal.closed_at}
      fallback={
        <>
          {props.proposal.author.name} proposed this <Ago iso={props.proposal.created_at} />.
          <Show when={commands.keys() && session.may('proposals.approve')}> A approves, R rejects.</Show>
        </>
      }
    >
      {(at) => (
        <>
          Proposed by {props.proposal.author.name}, {statusLabel(props.proposal).toLowerCase()} by {props.proposal.closed_by}{' '}
          <Ago iso={at()} />.
        </>
      )}
    </Show>
  );
}
