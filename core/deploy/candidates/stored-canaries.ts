import type { Platform } from '#core/platform/platform.ts';
import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithSnapshots } from '#core/versions/stored-snapshots.ts';
import { desc, inArray, and, eq } from 'drizzle-orm';
import type { CanaryState, CanaryPlan, CanarySide } from '#core/contract/deploy/canary-state.ts';
import { sidesOf, type Sides } from '#core/observe/canary-sides.ts';
import { type CanaryRow, runningCanary } from '#core/versions/running-canary.ts';
import { recordHistory } from '#core/records/history.ts';
import type { Context } from '#core/context/context.ts';
import type { Db } from '#core/store/store.ts';
import { AppError } from '#core/errors.ts';
import { emitEvent } from '#core/records/events.ts';
import { removeCandidate } from '#core/versions/stored-candidates.ts';

/** Canaries that are remembered. */
const KEPT = 20;

/** The one that runs, or the last one. */
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
    .offset(KEPT - 1)
    .limit(KEPT);
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

/** Ends a canary in the transaction of what ends it. */
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

/** Which limit the calls so far have passed, in a sentence; null: none. */
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

const round = (value: number): number => Math.round(value * 10) / 10;

export const percentOf = (share: number): string => `${round(share * 100)}%`;

/** What a deploy beside a running canary means for it; nothing when none runs. */
export async function canaryWarnings(app: Platform): Promise<string[]> {
  const row = await runningCanary(app);
  if (row === null) return [];
  return [
    `A canary is running, and its callers stay on it. It began beside version ${row.base_version}, so it will not promote itself over another version: promote or abort it.`,
  ];
}
