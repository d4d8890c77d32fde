import { createMemo, createSignal, onCleanup, Show } from 'solid-js';
import type { Replay } from '#core/contract/deploy/replay.ts';
import { Button } from '#ui/src/components/button.tsx';
import { Drawer } from '#ui/src/components/dialog.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { ProblemNotice } from '#ui/src/components/notice.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { Loaded } from '#ui/src/components/show/loaded.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { num } from '#ui/src/kernel/numbers.ts';
import { type Problem, toProblem } from '#ui/src/kernel/problem.ts';
import { ReplayResult } from './replay-result.tsx';

/** Versions that are offered. */
const MOST = 20;
const COUNTS = ['20', '100', '500', '1000'].map((value) => ({ value, label: `Up to ${num(Number(value))}` }));
const RUNNING = 'Running recent calls on both versions. This takes at most a minute.';
const VERSION = /^v(\d+)$/;

interface Target {
  /** What is chosen first: `v12`, or the id of a candidate. */
  target?: string | undefined;
  /** With the id of a proposal there is nothing to choose. */
  proposal?: string | undefined;
}

/** Runs recent calls on the live version and another one. */
export function ReplayDrawer(props: Target & { open: boolean; onClose: () => void }) {
  return (
    <Drawer
      open={props.open}
      title="Replay recent calls"
      lead="Runs recent calls of read-only tools on the live version and on another one, and compares the answers. Calls from clients go first."
      size="wide"
      onClose={props.onClose}
    >
      <Inside target={props.target} proposal={props.proposal} />
    </Drawer>
  );
}

function Inside(props: Target) {
  const config = useQuery((read) => read('config.get', {}));
  return (
    <Loaded of={config} rows={3} label="Loading">
      {(settings) => (
        <Show
          when={settings().replay_samples > 0}
          fallback={
            <EmptyState
              icon="refresh"
              title="Replay is off"
              action={<LinkButton href="/settings/general">Open the setting</LinkButton>}
            >
              <p>Set how many recent calls each host stores in memory, deploy, and come back after some calls.</p>
            </EmptyState>
          }
        >
          <Run target={props.target} proposal={props.proposal} />
        </Show>
      )}
    </Loaded>
  );
}

function Run(props: Target) {
  const { call } = useKernel();
  const versions = useQuery((read) => read('snapshots.list', { limit: MOST }));
  const candidates = useQuery((read) => read('candidates.list', {}));
  const [chosen, setChosen] = createSignal<string>();
  const [calls, setCalls] = createSignal('100');
  const [found, setFound] = createSignal<Replay>();
  const [problem, setProblem] = createSignal<Problem>();
  const [running, setRunning] = createSignal<AbortController>();

  const chooses = () => props.proposal === undefined;
  const targets = createMemo(() => [
    ...(candidates.data()?.items ?? []).map(({ candidate, note }) => ({
      value: candidate,
      label: note === null ? `Candidate ${candidate.slice(-6)}` : `Candidate: ${note}`,
    })),
    ...(versions.data()?.items ?? [])
      .filter(({ active }) => !active)
      .map(({ version }) => ({ value: `v${version}`, label: `Version ${version}` })),
  ]);
  const target = () =>
    [chosen(), props.target].find((value) => targets().some((one) => one.value === value)) ?? targets()[0]?.value;
  const label = (value: string) =>
    !chooses() ? 'With the proposal' : (targets().find((one) => one.value === value)?.label ?? value);

  const run = async () => {
    const [against, id] = [target(), props.proposal];
    if ((against === undefined && id === undefined) || running() !== undefined) return;
    const mine = new AbortController();
    setRunning(mine);
    setProblem(undefined);
    setFound(undefined);
    const version = VERSION.exec(against ?? '')?.[1];
    try {
      const input = version === undefined ? { candidate: against } : { version: Number(version) };
      const most = { calls: Number(calls()) };
      const answer =
        id === undefined
          ? call('replay.run', { ...input, ...most }, mine.signal)
          : call('proposals.replay', { id, ...most }, mine.signal);
      setFound(await answer);
    } catch (fault) {
      if (!mine.signal.aborted) setProblem(toProblem(fault));
    } finally {
      setRunning(undefined);
    }
  };
  onCleanup(() => running()?.abort());

  return (
    <div class="stack">
      <Show when={chooses() && versions.data() !== undefined && candidates.data() !== undefined && targets().length === 0}>
        <p class="soft">There is no other version yet. Create a candidate of the working copy to compare with.</p>
      </Show>
      <Show when={!chooses()}>
        <Select label="Calls" options={COUNTS} value={calls()} onChange={setCalls} />
      </Show>
      <Show when={chooses() && target()}>
        {(value) => (
          <div class="grid-2">
            <Select label="Compare with" options={targets()} value={value()} onChange={setChosen} />
            <Select label="Calls" options={COUNTS} value={calls()} onChange={setCalls} />
          </div>
        )}
      </Show>
      <div class="row">
        <Button
          kind="primary"
          icon="play"
          needs={chooses() ? 'replay.run' : 'proposals.replay'}
          busy={running() !== undefined}
          blocked={chooses() && target() === undefined}
          onPress={() => void run()}
        >
          Run replay
        </Button>
        <Show when={running()}>{(mine) => <Button onPress={() => mine().abort()}>Cancel</Button>}</Show>
      </div>
      <Show when={running()}>
        <div class="stack" data-gap="2" role="status">
          <progress class="work-progress" aria-label={RUNNING} />
          <p class="small soft">{RUNNING}</p>
        </div>
      </Show>
      <Show when={problem()}>{(fault) => <ProblemNotice problem={fault()} />}</Show>
      <Show when={found()} keyed>
        {(replay) => <ReplayResult replay={replay} name={label(replay.against)} />}
      </Show>
    </div>
  );
}
