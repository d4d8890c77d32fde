import { createSignal } from 'solid-js';
import type { GateName } from '#core/contract/settings/deploy-gates.ts';
import type { CanaryPlan } from '#core/contract/observe/canary-state.ts';
import type { Output } from '#core/contract/index.ts';
import type { Call } from '#ui/src/api.ts';
import { isPassing, type Problem, toProblem } from '#ui/src/kernel/problem.ts';
import type { Cache } from '#ui/src/kernel/data/cache.ts';
import type { Query } from '#ui/src/kernel/data/query.ts';

export type Status = Output<'deploy.status'>;
export type DeployReceipt = Output<'deploy.run'>;
export type Diff = Output<'deploy.diff'>;

/** A canary to start. */
export interface CanaryStart {
  readonly canary: CanaryPlan;
  readonly note: string;
  /** The candidate to serve; absent: the working copy. */
  readonly candidate?: string;
}

type Work = 'deploying' | 'stopping' | 'rehearsing';

/** Fields added to a request that gates blocked. */
interface Passing {
  readonly allow?: GateName[];
  readonly note?: string;
}

/** Texts of a request: the error title, and the label of the button that repeats it. */
interface AttemptWords {
  readonly failed?: string;
  readonly anyway: string;
}

/** A request that gates may block, as it can be repeated. */
interface Attempt {
  /** Label of the button that repeats it. */
  readonly anyway: string;
  /** A dry run. */
  readonly dry: boolean;
  readonly repeat: (passing: Passing) => Promise<boolean>;
}

export interface Deployment {
  readonly status: Query<Status>;
  readonly diff: Query<Diff>;
  readonly phase: () => 'idle' | Work;
  readonly receipt: () => DeployReceipt | undefined;
  /** Whether the receipt is of a dry run, which deployed nothing. */
  readonly rehearsed: () => boolean;
  /** Why the last deploy or stop failed. */
  readonly problem: () => Problem | undefined;
  /** Title of the error, if the action was no deploy. */
  readonly failed: () => string | undefined;
  readonly show: () => Promise<void>;
  /** Reloads the changes if the status differs from the one before. */
  readonly compare: () => void;
  /** The note of the next deploy, as typed. */
  readonly note: () => string;
  readonly setNote: (note: string) => void;
  readonly run: () => Promise<boolean>;
  /** Starts a canary for a share of the callers. */
  readonly startCanary: (start: CanaryStart) => Promise<boolean>;
  /** The last attempt; it can be repeated in spite of gate findings. */
  readonly attempt: () => Attempt | undefined;
  /** Promotes the canary that the person has reviewed. */
  readonly promote: (canary: string) => Promise<boolean>;
  readonly abort: (canary: string) => Promise<boolean>;
  /** Runs all checks of a deploy without deploying. */
  readonly rehearse: () => Promise<boolean>;
  /** Serves an earlier version again. */
  readonly activate: (version: number) => Promise<boolean>;
  readonly stop: () => Promise<boolean>;
  readonly dismiss: () => void;
  readonly close: () => void;
}

/** Deploys, with the served version and the pending changes. */
export function createDeployment(call: Call, cache: Cache): Deployment {
  const status = cache.query((read) => read('deploy.status', {}));
  const diff = cache.query((read) => read('deploy.diff', {}));
  const [phase, setPhase] = createSignal<'idle' | Work>('idle');
  const [receipt, setReceipt] = createSignal<DeployReceipt>();
  const [rehearsed, setRehearsed] = createSignal(false);
  const [problem, setProblem] = createSignal<Problem>();
  const [note, setNote] = createSignal('');
  const [attempt, setAttempt] = createSignal<Attempt>();
  const [failed, setFailed] = createSignal<string>();

  /** The last known state, to detect changes by other people. */
  let known: string | undefined;
  const compare = () => {
    const before = known;
    known = mark(status.data());
    if (before === undefined || known === before) return;
    void diff.reload();
    // The action has completed, or the state has moved on.
    const lost = problem();
    if (lost !== undefined && isPassing(lost)) setProblem(undefined);
  };

  const act = async (name: Work, words: string | undefined, action: () => Promise<void>): Promise<boolean> => {
    if (phase() !== 'idle') return false;
    setPhase(name);
    setFailed(words);
    setAttempt(undefined);
    setProblem(undefined);
    setReceipt(undefined);
    try {
      await action();
      return true;
    } catch (fault) {
      const found = toProblem(fault);
      setProblem(found);
      // Another person changed the definitions since the changes were read.
      if (found.code === 'conflict') cache.invalidate('deploy');
      return false;
    } finally {
      // A refused deploy can change the state too.
      await status.reload();
      if (problem() === undefined) known = mark(status.data());
      else compare();
      setPhase('idle');
    }
  };

  /** The changes that the person has reviewed: only these go live. */
  const shown = () => {
    const checksum = diff.data()?.checksum;
    return checksum === undefined ? {} : { checksum };
  };

  const send = (
    work: Work,
    { failed, anyway }: AttemptWords,
    request: (passing: Passing) => Promise<DeployReceipt>,
  ): Promise<boolean> => {
    const repeat = (passing: Passing) =>
      act(work, failed, async () => {
        setAttempt({ anyway, dry: work === 'rehearsing', repeat });
        const answer = await request(passing);
        setRehearsed(work === 'rehearsing');
        setReceipt(answer);
      });
    return repeat({});
  };

  return {
    status,
    diff,
    phase,
    receipt,
    rehearsed,
    problem,
    failed,
    async show() {
      await Promise.all([status.show(), diff.show()]);
      known ??= mark(status.data());
    },
    compare,
    attempt,
    note,
    setNote,
    run() {
      const sent: { readonly note?: string } = { ...shown(), ...noted(note()) };
      return send('deploying', { anyway: 'Deploy anyway' }, async (passing) => {
        const answer = await call('deploy.run', { ...sent, ...passing });
        // A note that was typed during the request stays.
        setNote((now) => (now.trim() === (sent.note ?? '') ? '' : now));
        return answer;
      });
    },
    startCanary({ note, ...start }) {
      const sent = { ...(start.candidate === undefined && shown()), ...start, ...noted(note) };
      const words = { failed: 'Canary not started', anyway: 'Start anyway' };
      return send('deploying', words, (passing) => call('deploy.run', { ...sent, ...passing }));
    },
    promote(canary) {
      const words = { failed: 'Canary not promoted', anyway: 'Promote anyway' };
      return send('deploying', words, (passing) => call('deploy.promote', { canary, ...passing }));
    },
    abort: (canary) => act('stopping', 'Canary not aborted', async () => void (await call('deploy.abort', { canary }))),
    rehearse() {
      const words = { failed: 'Dry run failed', anyway: 'Dry run anyway' };
      return send('rehearsing', words, (passing) => call('deploy.run', { dry_run: true, ...passing }));
    },
    activate(version) {
      const words = { failed: `Version ${version} not restored`, anyway: 'Restore anyway' };
      return send('deploying', words, (passing) => call('snapshots.activate', { version, ...passing }));
    },
    stop: () => act('stopping', 'Not stopped', async () => void (await call('deploy.stop', {}))),
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

/** A note as it is sent. */
export const noted = (note: string) => (note.trim() === '' ? {} : { note: note.trim() });
const mark = (status: Status | undefined): string | undefined =>
  status && `${status.status}/${status.snapshot_version}/${status.pending_checksum}/${status.hosts.length}`;
