import { createSignal, For, Show } from 'solid-js';
import type { Proposal } from '#core/contract/proposals.ts';
import { DEPLOY_GATES, GATE_NAMES } from '#core/contract/settings/deploy-gates.ts';
import { Badge, StatusDot } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { TextArea } from '#ui/src/components/form/field.tsx';
import { Failed } from '#ui/src/components/notice.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { Breakable } from '#ui/src/components/show/breakable.tsx';
import { Bullets } from '#ui/src/components/show/bullets.tsx';
import { FieldDiff } from '#ui/src/components/show/field-diff.tsx';
import { Ago } from '#ui/src/components/time.tsx';
import { ChangeList } from '#ui/src/features/deploy/change-list.tsx';
import { Breaking } from '#ui/src/features/deploy/deploy-dialog.tsx';
import { breakingCount } from '#ui/src/features/deploy/changes.ts';
import { ReplayDrawer } from '#ui/src/features/replay/replay-drawer.tsx';
import { stateOf } from '#ui/src/features/tests/words.ts';
import { useLeaveGuard } from '#ui/src/components/form/use-leave-guard.ts';
import { fieldError } from '#ui/src/kernel/problem.ts';
import { createMutation } from '#ui/src/kernel/data/mutation.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { Operations } from './operations.tsx';
import { duration } from '#ui/src/kernel/words.ts';

/** What a reviewer reads, in this order. */
export function Review(props: {
  proposal: Proposal;
  left: ReadonlySet<number>;
  onLeft: (left: ReadonlySet<number>) => void;
  onCommented: () => void;
}) {
  const { session } = useKernel();
  return (
    <>
      <Panel title="Why" flush>
        <div class="panel-body proposal-why">
          <Show when={props.proposal.note} fallback={<p class="soft">The author gave no reason.</p>}>
            <p>{props.proposal.note}</p>
          </Show>
        </div>
      </Panel>
      <Operations proposal={props.proposal} left={props.left} onLeft={props.onLeft} />
      <Show when={props.proposal.problem === null}>
        <Changes proposal={props.proposal} />
        <Findings proposal={props.proposal} />
        <Tests proposal={props.proposal} />
        <Show when={props.proposal.status === 'open' && session.may('proposals.replay')}>
          <Replays id={props.proposal.id} />
        </Show>
      </Show>
      <Comments proposal={props.proposal} onCommented={props.onCommented} />
    </>
  );
}

const TONE = { added: 'good', changed: 'info', removed: 'bad' } as const;

function Changes(props: { proposal: Proposal }) {
  return (
    <Panel title="What changes" flush>
      <Breaking count={breakingCount(props.proposal.diff)} />
      <Show
        when={props.proposal.diff.length > 0}
        fallback={<p class="panel-body soft">The definitions that are served stay as they are.</p>}
      >
        <ChangeList changes={props.proposal.diff} label="Changes of the working copy" />
      </Show>
      <Show when={props.proposal.test_changes.length > 0}>
        <h3 class="change-group">Tests that change</h3>
        <ul aria-label="Tests that change">
          <For each={props.proposal.test_changes}>
            {(test) => (
              <li class="change-row">
                <details>
                  <summary class="change-head">
                    <span class="change-name">{test.name}</span>
                    <span class="change-marks">
                      <Badge tone={TONE[test.change]}>{test.change}</Badge>
                    </span>
                  </summary>
                  <FieldDiff
                    changes={test.values}
                    entity_type="test"
                    alone={test.change === 'changed' ? undefined : test.change}
                  />
                </details>
              </li>
            )}
          </For>
        </ul>
      </Show>
    </Panel>
  );
}

const labelOf = (gate: string): string => {
  const known = GATE_NAMES.find((name) => name === gate);
  return known === undefined ? 'Statements' : DEPLOY_GATES[known].label;
};

function Findings(props: { proposal: Proposal }) {
  return (
    <Panel
      title="Findings"
      lead="What the deploy checks found in this proposal."
      count={props.proposal.findings.length || undefined}
      flush
    >
      <div class="panel-body">
        <Show when={props.proposal.findings.length > 0} fallback={<p class="soft">Nothing found.</p>}>
          <ul class="proposal-list" aria-label="Findings">
            <For each={props.proposal.findings}>
              {(finding) => (
                <li>
                  <span class="row">
                    <Badge tone={finding.blocks ? 'bad' : 'warning'}>{labelOf(finding.gate)}</Badge>
                    <Show when={finding.blocks}>
                      <span class="small">blocks a deploy</span>
                    </Show>
                  </span>
                  <span>
                    <Breakable text={finding.message} />
                  </span>
                </li>
              )}
            </For>
          </ul>
        </Show>
      </div>
    </Panel>
  );
}

function Tests(props: { proposal: Proposal }) {
  const { call, session } = useKernel();
  const running = createMutation((input: { id: string; version: number }) => call('proposals.test', input));
  const offered = () =>
    props.proposal.status === 'open' &&
    session.may('proposals.test') &&
    props.proposal.tests.some(({ status }) => status === 'skipped');
  const run = () => void running.run({ id: props.proposal.id, version: props.proposal.version });
  return (
    <Panel title="Test results" count={props.proposal.tests.length || undefined}>
      <Show when={props.proposal.tests.length > 0} fallback={<p class="soft">No test covers what changes.</p>}>
        <ul class="proposal-list" aria-label="Test results">
          <For each={props.proposal.tests}>
            {(test) => (
              <li>
                <span class="row">
                  <StatusDot {...stateOf(test.status)} />
                  <strong>{test.name}</strong>
                  <span class="small faint num">{duration(test.ms)}</span>
                </span>
                <Bullets small of={test.failures} />
              </li>
            )}
          </For>
        </ul>
      </Show>
      <Show when={offered()}>
        <p class="small soft">Tests of tools that write run only when you start them. Sluice rolls back what they write.</p>
        <Failed of={running} />
        <div class="row">
          <Button size="small" icon="play" busy={running.busy()} onPress={run}>
            Run skipped tests
          </Button>
        </div>
      </Show>
    </Panel>
  );
}

function Replays(props: { id: string }) {
  const [open, setOpen] = createSignal(false);
  return (
    <Panel title="Replay" lead="Runs recent client calls on the live version and on the working copy with this proposal." flush>
      <div class="panel-body">
        <Button icon="refresh" onPress={() => setOpen(true)}>
          Replay recent calls
        </Button>
      </div>
      <ReplayDrawer open={open()} proposal={props.id} onClose={() => setOpen(false)} />
    </Panel>
  );
}

function Comments(props: { proposal: Proposal; onCommented: () => void }) {
  const { call, session } = useKernel();
  const [text, setText] = createSignal('');
  const adding = createMutation((input: { id: string; text: string }) => call('proposals.comment', input));
  useLeaveGuard(() => (text().trim() === '' || adding.busy() ? undefined : 'Your comment is not added yet.'));
  const at_text = () => fieldError(adding.problem(), 'text');
  const add = async () => {
    const sent = text().trim();
    if (sent === '' || (await adding.run({ id: props.proposal.id, text: sent })) === undefined) return;
    setText('');
    props.onCommented();
  };
  return (
    <Panel title="Comments" count={props.proposal.comments.length || undefined}>
      <Show when={props.proposal.comments.length > 0} fallback={<p class="soft">No comments yet.</p>}>
        <ul class="proposal-list" aria-label="Comments">
          <For each={props.proposal.comments}>
            {(comment) => (
              <li>
                <span class="row small">
                  <strong>{comment.author.name}</strong>
                  <span class="faint">
                    <Ago iso={comment.created_at} />
                  </span>
                </span>
                <span class="proposal-why">{comment.text}</span>
              </li>
            )}
          </For>
        </ul>
      </Show>
      <Show when={session.may('proposals.comment')}>
        <TextArea
          label="Comment"
          hint="The author reads it with the proposal."
          rows={2}
          value={text()}
          onInput={setText}
          error={at_text()}
        />
        <Failed of={{ problem: () => (at_text() === undefined ? adding.problem() : undefined) }} />
        <div class="row">
          <Button size="small" busy={adding.busy()} blocked={text().trim() === ''} onPress={() => void add()}>
            Add comment
          </Button>
        </div>
      </Show>
    </Panel>
  );
}
