import type { DeployApp } from '#core/deploy/app.ts';
import type { Platform } from '#core/platform/platform.ts';
import { afterCommit } from '#core/platform/after-commit.ts';
import { runEvery } from '#core/platform/run-every.ts';
import { isAlone } from '#core/contract/proposal-ways.ts';
import type { ProposalFinding, Reviewed } from '#core/contract/proposals.ts';
import { AppError, CONTROLS, type ErrorCode } from '#core/errors.ts';
import type { RequestContext, RunOperations } from '#core/context/context.ts';
import { createLock, type Lock } from '#core/store/open.ts';
import { openOverlay, type Overlay, type Owner, stampOf, type ProposedOperation } from './overlay.ts';

/** A proposal, applied to the present working copy. */
export interface Review extends Reviewed {
  readonly findings: ProposalFinding[];
  /** Why it cannot be applied, as a sentence; null when it can. */
  readonly problem: string | null;
}

interface OpenOverlay {
  readonly overlay: Overlay;
  readonly stamp: string;
  version: number;
  used_at: number;
  busy: boolean;
}

/** Open overlays of recently changed proposals, so that one more operation need not apply all earlier ones again. */
export interface Overlays {
  readonly open: Map<string, OpenOverlay>;
  /** By author, whose operations run one after the other. */
  readonly locks: Map<string, Lock>;
  /** The last reviews. */
  readonly reviews: Map<string, Promise<Review>>;
  close(): Promise<void>;
}

const MAX_OPEN = 4;
const IDLE_TIMEOUT_MS = 10 * 60_000;

export function createOverlays(): Overlays {
  const open = new Map<string, OpenOverlay>();
  return {
    open,
    locks: new Map(),
    reviews: new Map(),
    async close() {
      await Promise.all([...open.values()].map(({ overlay }) => overlay.close()));
      open.clear();
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

/** One version of a proposal. */
export interface ProposalVersion extends Owner {
  readonly version: number;
}

/**
 * Runs work in the overlay that has the operations of a proposal. The caller holds the lock of its author.
 * @param work returns a value and the new version of the proposal.
 */
export async function withOverlay<T>(
  app: ProposalsApp,
  runner: RunOperations<DeployApp>,
  proposal: ProposalVersion,
  steps: readonly ProposedOperation[],
  call: RequestContext,
  work: (overlay: Overlay) => Promise<{ readonly value: T; readonly version: number }>,
): Promise<T> {
  const { open } = app.overlays;
  const stamp = await stampOf(app);
  const known = open.get(proposal.id);
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
    // The overlay may contain an operation that was not stored. A refused operation leaves no trace in it.
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
  app.overlays.open.set(proposal.id, entry);
  return entry;
}

/**
 * Applies all operations. Rejects with the first that cannot be applied any more. @param onRefusal gets the refused operation.
 * @param positions of the steps in the proposal, if these are not all of it.
 * @returns what each operation wrote.
 */
export async function applyAll(
  overlay: Overlay,
  runner: RunOperations<DeployApp>,
  steps: readonly ProposedOperation[],
  call: RequestContext,
  onRefusal: (step: ProposedOperation, error: AppError) => Promise<void> = async () => undefined,
  positions: readonly number[] | null = null,
) {
  const applied: Awaited<ReturnType<Overlay['apply']>>[] = [];
  for (const [n, step] of steps.entries()) {
    // It has its effect outside of the configuration, which this is a copy of.
    if (isAlone(step.operation)) continue;
    applied.push(
      await overlay.apply(runner, step, call).catch(async (error: unknown) => {
        if (error instanceof AppError) await onRefusal(step, error);
        throw cannotApply(error, positions?.[n] ?? n + 1, positions !== null);
      }),
    );
  }
  return applied;
}

/** These refusals are not reported as a conflict, because the same proposal would be refused again. */
const REFUSALS: readonly ErrorCode[] = [...CONTROLS, 'gate_failed', 'secret_required', 'secrets_unavailable', 'rate_limited'];

/** @param in_part whether other operations are left out, which may be the cause. */
export function cannotApply(error: unknown, position: number, in_part = false): unknown {
  if (!(error instanceof AppError)) return error;
  const { code, status, detail } = error;
  if (status === 403 || REFUSALS.includes(code)) {
    return withDetail(error, code, `${detail} Operation ${position} of the proposal was not applied.`);
  }
  const why = in_part ? 'cannot be applied without those that are left out' : 'cannot be applied any more';
  const message = `Operation ${position} of the proposal ${why}: ${detail}`;
  return withDetail(error, status >= 500 ? code : 'conflict', message);
}

/** A proposal that cannot be applied any more accepts no further operations. Says what to do instead. */
const withWayOut = (error: unknown): unknown =>
  error instanceof AppError && error.status < 500
    ? withDetail(error, error.code, `${error.detail} Begin another proposal with proposal_id new.`)
    : error;

const withDetail = (error: AppError, code: ErrorCode, detail: string): AppError => {
  const { errors, retry_after } = error;
  return new AppError(code, detail, { cause: error, errors, ...(retry_after !== undefined && { retry_after }) });
};

export async function closeOverlay({ overlays: { open }, log }: Platform & WithOverlays, id: string): Promise<void> {
  const entry = open.get(id);
  if (entry === undefined || entry.busy) return;
  open.delete(id);
  await afterCommit({ log }, 'closing a proposal', () => entry.overlay.close());
}

/** Closes idle overlays. @returns a function that stops it. */
export const keepDroppingIdle = (app: Platform & WithOverlays): (() => void) =>
  runEvery(app, { every_ms: IDLE_TIMEOUT_MS / 10, what: 'closing idle proposals', work: () => dropIdle(app) });

export async function dropIdle(app: Platform & WithOverlays, idle_ms = IDLE_TIMEOUT_MS): Promise<void> {
  const idle = [...app.overlays.open].filter(([, { busy }]) => !busy).toSorted(([, a], [, b]) => a.used_at - b.used_at);
  const surplus = idle.length - MAX_OPEN;
  const now = performance.now();
  for (const [n, [id, { used_at }]] of idle.entries()) {
    if (n < surplus || now - used_at > idle_ms) await closeOverlay(app, id);
  }
}

export interface WithOverlays {
  readonly overlays: Overlays;
}

/** The app of functions about proposals. */
export type ProposalsApp = DeployApp & WithOverlays;
