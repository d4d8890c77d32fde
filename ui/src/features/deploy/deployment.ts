import { createSignal } from 'solid-js';
import type { GateName } from '#core/contract/settings/deploy-gates.ts';
import type { CanaryPlan } from '#core/contract/deploy/canary-state.ts';
import type { Output } from '#core/contract/index.ts';
import type { Call } from '#ui/src/api.ts';
import { isPassing, type Problem, toProblem } from '#ui/src/kernel/problem.ts';
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

/** What is added to a request that gates blocked. */
interface Passing {
  readonly allow?: GateName[];
  readonly note?: string;
}

/** What is said of a request: when it failed, and on the button that repeats it. */
interface AttemptWords {
  readonly failed?: string;
  readonly anyway: string;
}

/** A request that gates may block, as it can be repeated. */
interface Attempt {
  /** What the button that repeats it says. */
  readonly anyway: string;
  /** It changes nothing. */
  readonly dry: boolean;
  readonly repeat: (passing: Passing) => Promise<boolean>;
}

export interface Deployment {
  readonly status: Query<Status>;
  readonly diff: Query<Diff>;
  readonly phase: () => 'idle' | Work;
  readonly receipt: () => DeployReceipt | undefined;
  /** Whether the receipt is of a dry run: nothing was deployed then. */
  readonly rehearsed: () => boolean;
  /** Why the last deploy or stop did not happen. */
  readonly problem: () => Problem | undefined;
  /** What did not happen, where it was no deploy. */
  readonly failed: () => string | undefined;
  readonly show: () => Promise<void>;
  /** Asks for the state again, and for the changes when it is another or they could not be read. */
  readonly refresh: () => Promise<void>;
  /** Of the next deploy, as it is typed. */
  readonly note: () => string;
  readonly setNote: (note: string) => void;
  readonly run: () => Promise<boolean>;
  /** Serves something to a share of the callers. */
  readonly startCanary: (wanted: CanaryWanted) => Promise<boolean>;
  /** What was tried last; it can be repeated past the findings of gates. */
  readonly attempt: () => Attempt | undefined;
  /** Serves the canary that a person has read to everybody. */
  readonly promote: (canary: string) => Promise<boolean>;
  readonly abort: (canary: string) => Promise<boolean>;
  /** Everything that a deploy checks, without the deploy. */
  readonly rehearse: () => Promise<boolean>;
  /** Serves an earlier version again. */
  readonly activate: (version: number) => Promise<boolean>;
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
  const [note, setNote] = createSignal('');
  const [attempt, setAttempt] = createSignal<Attempt>();
  const [failed, setFailed] = createSignal<string>();

  /** The state that everything here follows from: others may have read a newer one. */
  let known: string | undefined;
  const refresh = async () => {
    const before = known;
    await status.reload();
    known = mark(status.data());
    if (before !== undefined && known !== before) {
      cache.invalidate(['deploy', 'history', 'snapshots']);
      // What was asked for has happened, or it is another state by now.
      const lost = problem();
      if (lost !== undefined && isPassing(lost)) setProblem(undefined);
    } else if (status.problem() === undefined && diff.problem() !== undefined) await diff.reload();
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
      // Somebody else changed the definitions since the changes were read.
      if (found.code === 'conflict') cache.invalidate(['deploy']);
      return false;
    } finally {
      // A deploy that was refused is a state of its own.
      if (problem() === undefined) {
        await status.reload();
        known = mark(status.data());
      } else await refresh();
      setPhase('idle');
    }
  };

  /** What a person has read: nothing else goes live. */
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
    refresh,
    attempt,
    note,
    setNote,
    run() {
      const sent: { readonly note?: string } = { ...shown(), ...noted(note()) };
      return send('deploying', { anyway: 'Deploy anyway' }, async (passing) => {
        const answer = await call('deploy.run', { ...sent, ...passing });
        // Not one that was typed meanwhile.
        setNote((now) => (now.trim() === (sent.note ?? '') ? '' : now));
        return answer;
      });
    },
    startCanary({ note, ...wanted }) {
      const sent = { ...(wanted.candidate === undefined && shown()), ...wanted, ...noted(note) };
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
