import { createSignal } from 'solid-js';
import type { GateName } from '#core/contract/settings/deploy-gates.ts';
import type { CanaryPlan } from '#core/contract/deploy/canary-state.ts';
import type { Output, RawInput } from '#core/contract/index.ts';
import type { Call } from '#ui/src/api.ts';
import { type Problem, toProblem } from '#ui/src/kernel/problem.ts';
import type { Cache } from '#ui/src/kernel/data/cache.ts';
import type { Query } from '#ui/src/kernel/data/query.ts';

export type Status = Output<'deploy.status'>;
export type DeployReceipt = Output<'deploy.run'>;
export type Diff = Output<'deploy.diff'>;

/** A canary to start. */
export interface CanaryWanted {
  readonly canary: CanaryPlan;
  readonly note: string;
  /** What it serves; absent: the working copy. */
  readonly candidate?: string;
}

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
  readonly show: () => Promise<void>;
  /** Asks for the state again, and for the changes when it is another or they could not be read. */
  readonly refresh: () => Promise<void>;
  /** @param allow gates whose findings are passed knowingly. */
  readonly run: (note?: string, allow?: GateName[]) => Promise<void>;
  /** Serves something to a share of the callers. */
  readonly startCanary: (wanted: CanaryWanted) => Promise<void>;
  /** What was tried last, past the findings of these gates. */
  readonly again: (note: string, allow: GateName[]) => Promise<void>;
  readonly promote: () => Promise<boolean>;
  readonly abort: () => Promise<boolean>;
  /** Everything that a deploy checks, without the deploy. */
  readonly rehearse: () => Promise<void>;
  /** Serves an earlier version again. */
  readonly activate: (version: number, note?: string, allow?: GateName[]) => Promise<boolean>;
  readonly stop: () => Promise<boolean>;
  readonly dismiss: () => void;
  readonly close: () => void;
}

/** Deploying, what runs now and what waits. */
export function createDeployment(call: Call, cache: Cache): Deployment {
  const status = cache.query((read) => read('deploy.status', {}));
  const diff = cache.query((read) => read('deploy.diff', {}));
  const [phase, setPhase] = createSignal<'idle' | Work>('idle');
  const [receipt, setReceipt] = createSignal<DeployReceipt>();
  const [rehearsed, setRehearsed] = createSignal(false);
  const [problem, setProblem] = createSignal<Problem>();

  const refresh = async () => {
    const before = mark(status.data());
    await status.reload();
    if (before !== undefined && mark(status.data()) !== before) cache.invalidate(['deploy', 'history', 'snapshots']);
    else if (status.problem() === undefined && diff.problem() !== undefined) await diff.reload();
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
      const found = toProblem(fault);
      setProblem(found);
      // Somebody else changed the definitions since the changes were read.
      if (found.code === 'conflict') cache.invalidate(['deploy']);
      return false;
    } finally {
      // A deploy that was refused is a state of its own.
      await status.reload();
      setPhase('idle');
    }
  };

  /** What a person has read: nothing else goes live. */
  const shown = () => {
    const checksum = diff.data()?.checksum;
    return checksum === undefined ? {} : { checksum };
  };

  type Sent = RawInput<'deploy.run'> & RawInput<'deploy.promote'>;
  /** Of the last deploy, canary or promotion. */
  let last: { readonly name: 'deploy.run' | 'deploy.promote'; readonly sent: Sent } = { name: 'deploy.run', sent: {} };
  const deploy = (name: typeof last.name, sent: Sent): Promise<boolean> => {
    last = { name, sent };
    return act('deploying', async () => {
      const answer = await call(name, sent);
      setRehearsed(false);
      setReceipt(answer);
    });
  };

  return {
    status,
    diff,
    phase,
    receipt,
    rehearsed,
    problem,
    show: async () => void (await Promise.all([status.show(), diff.show()])),
    refresh,
    async run(note = '', allow = []) {
      await deploy('deploy.run', { ...shown(), ...noted(note), ...(allow.length === 0 ? {} : { allow }) });
    },
    async startCanary({ note, ...wanted }) {
      await deploy('deploy.run', { ...(wanted.candidate === undefined && shown()), ...wanted, ...noted(note) });
    },
    async again(note, allow) {
      await deploy(last.name, { ...last.sent, ...noted(note), allow });
    },
    promote: () => deploy('deploy.promote', {}),
    abort: () => act('stopping', async () => void (await call('deploy.abort', {}))),
    async rehearse() {
      await act('rehearsing', async () => {
        const answer = await call('deploy.run', { dry_run: true });
        setRehearsed(true);
        setReceipt(answer);
      });
    },
    activate: (version, note = '', allow = []) =>
      act('deploying', async () => {
        const answer = await call('snapshots.activate', { version, ...noted(note), ...(allow.length === 0 ? {} : { allow }) });
        setRehearsed(false);
        setReceipt(answer);
      }),
    stop: () => act('stopping', async () => void (await call('deploy.stop', {}))),
    dismiss() {
      setReceipt(undefined);
      setProblem(undefined);
    },
    close() {
      status.close();
      diff.close();
    },
  };
}

const noted = (note: string) => (note.trim() === '' ? {} : { note: note.trim() });
const mark = (status: Status | undefined): string | undefined =>
  status && `${status.status}/${status.snapshot_version}/${status.pending_changes}/${status.hosts.length}`;
