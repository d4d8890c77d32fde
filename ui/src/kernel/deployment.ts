import { createSignal } from 'solid-js';
import type { Output } from '#core/contract/index.ts';
import type { Call } from '../api.ts';
import { type Problem, toProblem } from './problem.ts';
import { createQuery, type Query } from './query.ts';

export type Status = Output<'deploy.status'>;
export type DeployReceipt = Output<'deploy.run'>;
export type Diff = Output<'deploy.diff'>;

export interface Deployment {
  readonly status: Query<Status>;
  readonly diff: Query<Diff>;
  readonly phase: () => 'idle' | 'deploying' | 'stopping';
  readonly receipt: () => DeployReceipt | undefined;
  /** Why the last deploy or stop did not happen. */
  readonly problem: () => Problem | undefined;
  readonly refresh: () => Promise<void>;
  readonly run: () => Promise<void>;
  readonly stop: () => Promise<boolean>;
  readonly dismiss: () => void;
}

/** Deploying and what runs now; `onChange` is told when the live version, the state or the pending changes became others. */
export function createDeployment(call: Call, onChange: () => void = () => {}): Deployment {
  const status = createQuery((signal) => call('deploy.status', {}, signal));
  const diff = createQuery((signal) => call('deploy.diff', {}, signal));
  const [phase, setPhase] = createSignal<'idle' | 'deploying' | 'stopping'>('idle');
  const [receipt, setReceipt] = createSignal<DeployReceipt>();
  const [problem, setProblem] = createSignal<Problem>();

  const refresh = async () => {
    const before = mark(status.data());
    await status.reload();
    if (before !== undefined && mark(status.data()) !== before) onChange();
  };

  const act = async (name: 'deploying' | 'stopping', action: () => Promise<void>): Promise<boolean> => {
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
    problem,
    refresh,
    async run() {
      await act('deploying', async () => {
        const answer = await call('deploy.run', {});
        setReceipt(answer);
      });
    },
    stop: () => act('stopping', async () => void (await call('deploy.stop', {}))),
    dismiss() {
      setReceipt(undefined);
      setProblem(undefined);
    },
  };
}

const mark = (status: Status | undefined): string | undefined =>
  status && `${status.status}/${status.snapshot_version}/${status.pending_changes}/${status.hosts.length}`;
