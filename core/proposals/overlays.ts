import type { DeployApp } from '#core/deploy/app.ts';
import type { Platform } from '#core/platform/platform.ts';
import { afterCommit } from '#core/platform/after-commit.ts';
import { runEvery } from '#core/platform/run-every.ts';
import type { ProposalFinding, Reviewed } from '#core/contract/proposals.ts';
import { AppError, CONTROLS, type ErrorCode } from '#core/errors.ts';
import type { RequestContext, RunOperations } from '#core/context/context.ts';
import { createLock, type Lock } from '#core/store/open.ts';
import { openOverlay, type Overlay, type Owner, stampOf, type ProposedOperation } from './overlay.ts';

/** A proposal on the working copy as it is now. */
export interface Review extends Reviewed {
  readonly findings: ProposalFinding[];
  /** Why it cannot be applied, as a sentence. */
  readonly problem: string | null;
}

interface OpenOverlay {
  readonly overlay: Overlay;
  readonly stamp: string;
  version: number;
  used_at: number;
  busy: boolean;
}

/** Overlays of the proposals that were written to last, so that a further operation costs one operation. */
export interface Overlays {
  readonly kept: Map<string, OpenOverlay>;
  /** Of each author: what one proposes takes turns. */
  readonly locks: Map<string, Lock>;
  /** What reviewers saw last. */
  readonly reviews: Map<string, Promise<Review>>;
  close(): Promise<void>;
}

const MOST_KEPT = 4;
const KEPT_MS = 10 * 60_000;

export function createOverlays(): Overlays {
  const kept = new Map<string, OpenOverlay>();
  return {
    kept,
    locks: new Map(),
    reviews: new Map(),
    async close() {
      await Promise.all([...kept.values()].map(({ overlay }) => overlay.close()));
      kept.clear();
    },
  };
}

export async function inTurn<T>(
  { overlays: { locks } }: Platform & WithOverlays,
  author: string,
  work: () => Promise<T>,
): Promise<T> {
  const lock = locks.get(author) ?? createLock();
  locks.set(author, lock);
  try {
    return await lock(work);
  } finally {
    if (!lock.busy()) locks.delete(author);
  }
}

/** A proposal as it is replayed. */
export interface ProposalVersion extends Owner {
  readonly version: number;
}

/**
 * Work on a proposal in the overlay that has its operations. Whoever asks has the turn of its author.
 * @param work answers the version that the proposal has then.
 */
export async function withOverlay<T>(
  app: ProposalsApp,
  runner: RunOperations<DeployApp>,
  proposal: ProposalVersion,
  steps: readonly ProposedOperation[],
  call: RequestContext,
  work: (overlay: Overlay) => Promise<{ readonly value: T; readonly version: number }>,
): Promise<T> {
  const { kept } = app.overlays;
  const stamp = await stampOf(app);
  const known = kept.get(proposal.id);
  const fits = known?.stamp === stamp && known.version === proposal.version;
  if (known !== undefined && !fits) await closeOverlay(app, proposal.id);
  const entry = known !== undefined && fits ? known : await openApplied(app, runner, proposal, steps, call, stamp);
  const { applied } = entry.overlay;
  entry.busy = true;
  try {
    const { value, version } = await work(entry.overlay);
    entry.version = version;
    return value;
  } catch (error) {
    entry.busy = false;
    // It may have what was not stored; what an operation itself refuses leaves nothing.
    if (!(error instanceof AppError) || entry.overlay.applied !== applied) await closeOverlay(app, proposal.id);
    throw error;
  } finally {
    entry.busy = false;
    entry.used_at = performance.now();
    await dropIdle(app);
  }
}

async function openApplied(
  app: ProposalsApp,
  runner: RunOperations<DeployApp>,
  proposal: ProposalVersion,
  steps: readonly ProposedOperation[],
  call: RequestContext,
  stamp: string,
): Promise<OpenOverlay> {
  const overlay = await openOverlay(app, proposal);
  try {
    await applyAll(overlay, runner, steps, call);
  } catch (error) {
    await overlay.close();
    throw withWayOut(error);
  }
  const entry: OpenOverlay = { overlay, stamp, version: proposal.version, used_at: performance.now(), busy: true };
  app.overlays.kept.set(proposal.id, entry);
  return entry;
}

/**
 * @param onRefusal hears which operation was refused, and why.
 * @returns what each operation wrote. Rejects, naming the first that does not apply any more.
 */
export async function applyAll(
  overlay: Overlay,
  runner: RunOperations<DeployApp>,
  steps: readonly ProposedOperation[],
  call: RequestContext,
  onRefusal: (step: ProposedOperation, error: AppError) => Promise<void> = async () => undefined,
) {
  const applied: Awaited<ReturnType<Overlay['apply']>>[] = [];
  for (const [n, step] of steps.entries()) {
    applied.push(
      await overlay.apply(runner, step, call).catch(async (error: unknown) => {
        if (error instanceof AppError) await onRefusal(step, error);
        throw cannotApply(error, n + 1);
      }),
    );
  }
  return applied;
}

/** What a control, a gate or the rights refuse is no conflict: the proposal would be refused as a new one, too. */
const REFUSALS: readonly ErrorCode[] = [...CONTROLS, 'gate_failed', 'secret_required', 'secrets_unavailable', 'rate_limited'];

export function cannotApply(error: unknown, position: number): unknown {
  if (!(error instanceof AppError)) return error;
  const { code, status, detail } = error;
  if (status === 403 || REFUSALS.includes(code)) {
    return retold(error, code, `${detail} Operation ${position} of the proposal was not applied.`);
  }
  const told = `Operation ${position} of the proposal cannot be applied any more: ${detail}`;
  return retold(error, status >= 500 ? code : 'conflict', told);
}

/** Nothing more can be written to a proposal that no longer applies. */
const withWayOut = (error: unknown): unknown =>
  error instanceof AppError && error.status < 500
    ? retold(error, error.code, `${error.detail} Begin another proposal with proposal_id new.`)
    : error;

const retold = (error: AppError, code: ErrorCode, detail: string): AppError => {
  const { errors, retry_after } = error;
  return new AppError(code, detail, { cause: error, errors, ...(retry_after !== undefined && { retry_after }) });
};

export async function closeOverlay({ overlays: { kept }, log }: Platform & WithOverlays, id: string): Promise<void> {
  const entry = kept.get(id);
  if (entry === undefined || entry.busy) return;
  kept.delete(id);
  await afterCommit({ log }, 'closing a proposal', () => entry.overlay.close());
}

/** Those that are not written to go without anybody asking. @returns a function that ends it. */
export const keepDroppingIdle = (app: Platform & WithOverlays): (() => void) =>
  runEvery(app, { every_ms: KEPT_MS / 10, what: 'closing idle proposals', work: () => dropIdle(app) });

export async function dropIdle(app: Platform & WithOverlays, kept_ms = KEPT_MS): Promise<void> {
  const idle = [...app.overlays.kept].filter(([, { busy }]) => !busy).toSorted(([, a], [, b]) => a.used_at - b.used_at);
  const surplus = idle.length - MOST_KEPT;
  const now = performance.now();
  for (const [n, [id, { used_at }]] of idle.entries()) {
    if (n < surplus || now - used_at > kept_ms) await closeOverlay(app, id);
  }
}

export interface WithOverlays {
  readonly overlays: Overlays;
}

/** What functions of this room work with. */
export type ProposalsApp = DeployApp & WithOverlays;
