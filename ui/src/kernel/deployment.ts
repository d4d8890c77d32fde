import { createSignal } from 'solid-js';
import type { Output } from '#core/contract/index.ts';
import type { Call } from '../api.ts';
import { type Problem, toProblem } from './problem.ts';
import { createQuery, type Query } from './query.ts';

export type Status = Output<'deploy.status'>;
export type DeployReceipt = Output<'deploy.run'>;
export type Diff = Output<'deploy.diff'>;

type Work = 'deploying' | 'stopping' | 'rehearsing';

export interface Deployment {
  readonly status: Query<Status>;
  readonly diff: Query<Diff>;
  readonly phase: () => 'idle' | Work;
  readonly receipt: () => DeployReceipt | undefined;
  /** Whether the receipt is of a dry run: nothing was deployed then. */
  readonly rehearsed: () => boolean;
  /** Why the last deploy or stop did not happen. */
  readonly problem: () => Problem | undefined;
  readonly refresh: () => Promise<void>;
  readonly run: (note?: string) => Promise<void>;
  /** Everything that a deploy checks, without the deploy. */
  readonly rehearse: () => Promise<void>;
  /** Serves an earlier version again. */
  readonly activate: (version: number, note?: string) => Promise<boolean>;
  readonly stop: () => Promise<boolean>;
  readonly dismiss: () => void;
}

/** Deploying and what runs now; `onChange` is told when the live version, the state or the pending changes became others. */
export function createDeployment(call: Call, onChange: () => void = () => {}): Deployment {
  const status = createQuery((signal) => call('deploy.status', {}, signal));
  const diff = createQuery((signal) => call('deploy.diff', {}, signal));
  const [phase, setPhase] = createSignal<'idle' | Work>('idle');
  const [receipt, setReceipt] = createSignal<DeployReceipt>();
  const [rehearsed, setRehearsed] = createSignal(false);
  const [problem, setProblem] = createSignal<Problem>();

  const refresh = async () => {
    const before = mark(status.data());
    await status.reload();
    if (before !== undefined && mark(status.data()) !== before) onChange();
  };

  const act = async (name: Work, action: () => Promise<void>): Promise<boolean> => {
    if (phase() !== 'idle') return false;
    setPhase(name);
    setProblem(undefined);
    setReceipt(undefined);
    try {
      await action();
      return true;
    } catch (fault) {
      setProblem(toProblem(fault));
      return false;
    } finally {
      await refresh();
      setPhase('idle');
    }
  };

  return {
    status,
    diff,
    phase,
    receipt,
    rehearsed,
    problem,
    refresh,
    async run(note = '') {
      await act('deploying', async () => {
        const answer = await call('deploy.run', note.trim() === '' ? {} : { note: note.trim() });
        setRehearsed(false);
        setReceipt(answer);
      });
    },
    async rehearse() {
      await act('rehearsing', async () => {
        const answer = await call('deploy.run', { dry_run: true });
        setRehearsed(true);
        setReceipt(answer);
      });
    },
    activate: (version, note = '') =>
      act('deploying', async () => {
        const answer = await call('snapshots.activate', { version, ...(note.trim() === '' ? {} : { note: note.trim() }) });
        setRehearsed(false);
        setReceipt(answer);
      }),
    stop: () => act('stopping', async () => void (await call('deploy.stop', {}))),
    dismiss() {
      setReceipt(undefined);
      setProblem(undefined);
    },
  };
}

const mark = (status: Status | undefined): string | undefined =>
  status && `${status.status}/${status.snapshot_version}/${status.pending_changes}/${status.hosts.length}`;
