import { createEffect, createSignal, For, Match, onCleanup, Show, Switch } from 'solid-js';
import type { Proposal } from '#core/contract/proposals.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Notice, ProblemNotice } from '#ui/src/components/notice.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { useParams } from '#ui/src/components/shell/route-context.ts';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { Ago } from '#ui/src/components/time.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { createMutation } from '#ui/src/kernel/data/mutation.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { DecisionDialog } from './decision-dialog.tsx';
import { Review } from './review.tsx';
import { STATUS, WORDS } from './words.ts';
import './proposals.css';

const POLL_MS = 15_000;

/** One proposal: why, what, what the checks say, and the decision. */
export function ProposalPage() {
  const { id = '' } = useParams();
  const { call, commands, session, toasts } = useKernel();
  const query = useQuery((read) => read('proposals.get', { id }), { every_ms: POLL_MS });
  const [deciding, setDeciding] = createSignal<'approve' | 'reject'>();
  const open = () => query.data()?.status === 'open';
  // An agent may add to an open proposal while a person reads it.
  const [read, setRead] = createSignal<number>();
  createEffect(() => {
    if (read() === undefined) setRead(query.data()?.version);
  });
  const changed = () => open() && query.data() !== undefined && query.data()?.version !== read();
  const approvable = () => open() && !changed() && query.data()?.stale.length === 0 && query.data()?.problem === null;
  const rebasing = createMutation(() => call('proposals.rebase', { id }));
  const rebase = async () => {
    const done = await rebasing.run(undefined);
    if (done === undefined) return;
    toasts.show(WORDS.rebased, 'good');
    await query.reload();
    setRead(done.version);
  };
  onCleanup(
    commands.register([
      {
        id: 'approve-proposal',
        title: WORDS.approve,
        group: 'This page',
        key: 'a',
        needs: 'proposals.approve',
        enabled: approvable,
        run: () => setDeciding('approve'),
      },
      {
        id: 'reject-proposal',
        title: WORDS.reject,
        group: 'This page',
        key: 'r',
        needs: 'proposals.reject',
        enabled: open,
        run: () => setDeciding('reject'),
      },
    ]),
  );

  return (
    <Page
      title={query.data()?.title ?? WORDS.proposal}
      back={{ href: '/proposals', label: WORDS.back }}
      badge={
        <Show when={query.data()}>
          {(found) => <Badge tone={STATUS[found().status].tone}>{STATUS[found().status].label}</Badge>}
        </Show>
      }
      lead={<Show when={query.data()}>{(found) => <Who proposal={found()} />}</Show>}
      actions={
        <Switch>
          <Match when={open()}>
            <Button icon="close" needs="proposals.reject" aria-keyshortcuts="r" onPress={() => setDeciding('reject')}>
              {WORDS.reject}
            </Button>
            <Button
              kind="primary"
              icon="check"
              needs="proposals.approve"
              aria-keyshortcuts="a"
              blocked={!approvable()}
              onPress={() => setDeciding('approve')}
            >
              {WORDS.approve}
            </Button>
          </Match>
          <Match when={query.data()?.status === 'approved' && session.may('deploy.run')}>
            <LinkButton href="/deploy" icon="rocket">
              {WORDS.deploy}
            </LinkButton>
          </Match>
        </Switch>
      }
    >
      <Switch>
        <Match when={query.problem()}>
          {(problem) => <ProblemNotice problem={problem()} onRetry={() => void query.reload()} />}
        </Match>
        <Match when={query.data() === undefined}>
          <div class="panel">
            <SkeletonList rows={5} label={WORDS.checking} />
          </div>
        </Match>
      </Switch>
      <Show when={query.data()}>
        {(found) => (
          <div class="stack">
            <Show when={changed()}>
              <Notice
                tone="brass"
                title={WORDS.changed}
                action={
                  <Button size="small" icon="check" onPress={() => setRead(found().version)}>
                    {WORDS.changed_read}
                  </Button>
                }
              >
                <p>{WORDS.changed_text}</p>
              </Notice>
            </Show>
            <Show when={found().stale.length > 0}>
              <Notice
                tone="brass"
                title={WORDS.stale}
                action={
                  <Button
                    size="small"
                    icon="refresh"
                    needs="proposals.rebase"
                    busy={rebasing.busy()}
                    onPress={() => void rebase()}
                  >
                    {WORDS.rebase}
                  </Button>
                }
              >
                <ul class="bullets">
                  <For each={found().stale}>
                    {(record) => <li>{record.message.charAt(0).toUpperCase() + record.message.slice(1)}</li>}
                  </For>
                </ul>
                <p>{WORDS.stale_text}</p>
              </Notice>
            </Show>
            <Show when={rebasing.problem()}>{(problem) => <ProblemNotice problem={problem()} />}</Show>
            <Show when={found().problem}>
              {(sentence) => (
                <Notice tone="bad" title={WORDS.problem}>
                  <p>{sentence()}</p>
                </Notice>
              )}
            </Show>
            <Review proposal={found()} onCommented={() => void query.reload()} />
          </div>
        )}
      </Show>
      <Show when={query.data()}>
        {(found) => (
          <DecisionDialog
            proposal={found()}
            version={read() ?? found().version}
            deciding={deciding()}
            onClose={() => setDeciding(undefined)}
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
          <Show when={commands.keys() && session.may('proposals.approve')}> {WORDS.keys}</Show>
        </>
      }
    >
      {(at) => (
        <>
          Proposed by {props.proposal.author.name}, {props.proposal.status} by {props.proposal.closed_by} <Ago iso={at()} />.
        </>
      )}
    </Show>
  );
}
