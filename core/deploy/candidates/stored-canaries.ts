import type { Deployment, CanaryRow, SwitchState } from '#core/versions/deployment.ts';
import type { CanaryPlan, CanaryState, CanarySide } from '#core/contract/observe/canary-state.ts';
import type { Platform } from '#core/platform/platform.ts';
import { desc, inArray, and, eq } from 'drizzle-orm';
import { sidesOf, type Sides } from '#core/observe/canary-sides.ts';
import { recordHistory } from '#core/records/history.ts';
import type { Context } from '#core/context/context.ts';
import type { Db } from '#core/store/store.ts';
import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithSnapshots } from '#core/versions/stored-snapshots.ts';
import { AppError } from '#core/errors.ts';
import { emitEvent } from '#core/records/events.ts';
import { removeCandidate } from '#core/versions/stored-candidates.ts';

/** Canaries in the store. The oldest are deleted. */
const MAX_CANARIES = 20;

/** The running canary, or the last one. */
export async function lastCanary(app: Platform): Promise<CanaryState | null> {
  const { canaries } = app.store.tables;
  const [row] = await app.store.db.select().from(canaries).orderBy(desc(canaries.id)).limit(1);
  return row === undefined ? null : toState(row, await sidesOf(app, row.id));
}

export function toState(row: CanaryRow, sides: Sides): CanaryState {
  const { candidate_id, own_candidate, allowed: _, seed: _seed, ...shown } = row;
  return { ...shown, candidate: own_candidate ? null : candidate_id, ...sides };
}

export async function addCanary(context: Context, tx: Db, row: CanaryRow): Promise<void> {
  const { app } = context;
  const { canaries, canary_sides } = app.store.tables;
  const old = await tx
    .select({ id: canaries.id })
    .from(canaries)
    .orderBy(desc(canaries.id))
    .offset(MAX_CANARIES - 1)
    .limit(MAX_CANARIES);
  const ids = old.map(({ id }) => id);
  if (ids.length > 0) {
    await tx.delete(canary_sides).where(inArray(canary_sides.canary_id, ids));
    await tx.delete(canaries).where(inArray(canaries.id, ids));
  }
  await tx.insert(canaries).values(row);
  const none = { calls: 0, errors: 0, histogram: {} };
  await tx.insert(canary_sides).values((['live', 'canary'] as const).map((side) => ({ canary_id: row.id, side, ...none })));
  const { candidate_id, percent, minutes, max_error_rate, max_p95_ratio, min_calls, checksum, note } = row;
  const plan = { percent, minutes, max_error_rate, max_p95_ratio, min_calls };
  const after = { canary: row.id, candidate: candidate_id, checksum, ...plan, note, status: row.status };
  await recordHistory(tx, context, { ...named(row), before: null, after });
}

/** Ends a canary, in the transaction of what ends it. */
export async function endCanary(
  context: Context<WithSources & WithSnapshots>,
  tx: Db,
  row: CanaryRow,
  end: { readonly status: 'promoted' | 'aborted'; readonly reason: string; readonly version?: number },
): Promise<CanaryRow> {
  const { app } = context;
  const { canaries } = app.store.tables;
  const change = { status: end.status, reason: end.reason, version: end.version ?? null, ended_at: app.clock().toISOString() };
  const ended = await tx
    .update(canaries)
    .set(change)
    .where(and(eq(canaries.id, row.id), eq(canaries.status, 'running')))
    .returning({ id: canaries.id });
  if (ended.length === 0) throw new AppError('conflict', 'The canary has ended in the meantime.');
  const of = { canary: row.id, checksum: row.checksum };
  await recordHistory(tx, context, {
    ...named(row),
    before: { ...of, status: row.status },
    after: { ...of, status: end.status, reason: end.reason },
  });
  if (end.status === 'aborted') {
    const { live, canary } = await sidesOf(app, row.id, tx);
    const by = context.actor?.name ?? 'system';
    await emitEvent(
      app,
      'canary_aborted',
      { canary: row.id, reason: end.reason, by, sides: { live, canary } },
      tx,
      context.actor,
    );
  }
  if (row.own_candidate) await removeCandidate(app, tx, row.candidate_id);
  return { ...row, ...change };
}

const named = ({ id }: CanaryRow) => ({ entity_type: 'snapshot', entity_id: id, entity_name: `canary ${id}` }) as const;

/** The limit that the calls so far have exceeded, in a sentence. Null when none is exceeded. */
export function limitPassed(
  { max_error_rate, max_p95_ratio, min_calls }: Pick<CanaryPlan, 'max_error_rate' | 'max_p95_ratio' | 'min_calls'>,
  { live, canary }: { readonly live: CanarySide; readonly canary: CanarySide },
): string | null {
  if (canary.calls < min_calls) return null;
  if (max_error_rate !== null && canary.error_rate > max_error_rate) {
    return `Limit passed: ${percentOf(canary.error_rate)} of ${canary.calls} calls failed; the limit is ${percentOf(max_error_rate)}.`;
  }
  if (max_p95_ratio === null || live.calls < min_calls || live.p95_ms === 0) return null;
  const ratio = canary.p95_ms / live.p95_ms;
  if (ratio <= max_p95_ratio) return null;
  return `Limit passed: the p95 is ${canary.p95_ms} ms, ${round(ratio)} times the ${live.p95_ms} ms of the live version; the limit is ${max_p95_ratio} times.`;
}

const round = (value: number): number => Math.round(value * 100) / 100;

const percentOf = (share: number): string => `${round(share * 100)}%`;

/** Warnings for a deploy while a canary runs. */
export function canaryWarnings({ canary_base }: Pick<SwitchState, 'canary_base'>): string[] {
  if (canary_base === null) return [];
  return [
    `A canary is running, and its callers stay on it. It began beside version ${canary_base}, so it will not promote itself over another version: promote or abort it.`,
  ];
}

/** A sentence about what a deploy would do, for its dry run. @param what the working copy, or a candidate. */
export function deployPlan(what: string, changed: boolean, { desired, active_version }: Deployment): string {
  if (active_version === null) return `This deploy would serve ${what} as the first version.`;
  if (changed) return `This deploy would serve ${what} to every caller, in place of version ${active_version}.`;
  return desired === 'running'
    ? `This deploy would change nothing: version ${active_version} is live and is the same.`
    : `This deploy would start version ${active_version} again, which is the same.`;
}

/** A sentence about what starting a canary would do. */
export function canaryPlan(
  what: string,
  base_version: number,
  { percent, minutes, max_error_rate, max_p95_ratio, min_calls }: CanaryPlan,
): string {
  const limits = [
    ...(max_error_rate === null ? [] : [`more than ${percentOf(max_error_rate)} of its calls fail`]),
    ...(max_p95_ratio === null ? [] : [`its p95 is more than ${max_p95_ratio} times that of version ${base_version}`]),
  ];
  const unless = limits.length === 0 ? '' : `, unless ${limits.join(' or ')} (from its call ${min_calls} on)`;
  const after = `${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`;
  return `This deploy would serve ${what} to ${percent}% of the callers beside version ${base_version}, and to every caller after ${after}${unless}.`;
}
