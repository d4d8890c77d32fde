import type { Platform } from '#core/platform/platform.ts';
import { and, eq } from 'drizzle-orm';
import type { CanarySide } from '#core/contract/observe/canary-state.ts';
import { neverRan } from '#core/contract/observe/outcomes.ts';
import type { CallGroup, Calls } from '#core/contract/observe/usage-batch.ts';
import { addDuration, type Histogram, mergeInto, quantile } from '#core/lib/histogram.ts';
import { type Cell, errorsOf } from '#core/observe/count-calls.ts';
import type { Db } from '#core/store/store.ts';

type Side = 'live' | 'canary';
export type Sides = Readonly<Record<Side, CanarySide>>;

interface Counted {
  calls: number;
  errors: number;
  readonly histogram: Histogram;
}

/**
 * Adds the calls of a batch to their sides, in the transaction that stores the batch, so that each call counts once. Servers
 * already run this transaction one at a time. @returns whether there were any calls.
 */
export async function countOnSides(
  app: Platform,
  tx: Db,
  groups: readonly CallGroup[],
  cells: readonly Cell[],
  durations: Durations,
): Promise<boolean> {
  if (!groups.some(({ canary }) => canary)) return false;
  const { canary_sides: sides } = app.store.tables;
  for (const { id, side, counted } of sumsOf(groups, cells, durations)) {
    const which = and(eq(sides.canary_id, id), eq(sides.side, side));
    const [stored] = await tx.select().from(sides).where(which);
    // If the batch is very late, its canary may have been deleted.
    if (stored === undefined) continue;
    mergeInto(counted.histogram, stored.histogram);
    await tx
      .update(sides)
      .set({
        calls: stored.calls + counted.calls,
        errors: stored.errors + counted.errors,
        histogram: counted.histogram,
      })
      .where(which);
  }
  return true;
}

type Durations = Pick<Calls, 'group' | 'duration_ms' | 'wait_ms' | 'database_ms' | 'error'>;

/**
 * Durations exclude the time in the queue: both sides wait for the same slots, so a slow side delays both, and waits would hide
 * the difference.
 */
function sumsOf(groups: readonly CallGroup[], cells: readonly Cell[], durations: Durations) {
  const sums = new Map<string, { readonly id: string; readonly side: Side; readonly counted: Counted }>();
  for (const cell of cells) {
    const canary = groups[cell.group]?.canary;
    if (!canary) continue;
    const { id, side } = canary;
    const known = sums.get(`${side} ${id}`) ?? { id, side, counted: { calls: 0, errors: 0, histogram: {} } };
    sums.set(`${side} ${id}`, known);
    known.counted.calls += cell.calls;
    known.counted.errors += errorsOf(cell);
  }
  const { group, duration_ms, wait_ms, database_ms, error } = durations;
  for (const [n, index] of group.entries()) {
    const canary = groups[index]?.canary;
    const sum = canary ? sums.get(`${canary.side} ${canary.id}`) : undefined;
    if (sum === undefined || neverRan(error[n] ?? null, database_ms[n])) continue;
    addDuration(sum.counted.histogram, Math.max(0, (duration_ms[n] ?? 0) - (wait_ms[n] ?? 0)));
  }
  return sums.values();
}

/** The counts so far. */
export async function sidesOf(app: Platform, canary_id: string, tx: Db = app.store.db): Promise<Sides> {
  const { canary_sides } = app.store.tables;
  const rows = await tx.select().from(canary_sides).where(eq(canary_sides.canary_id, canary_id));
  const of = (side: Side): CanarySide => {
    const { calls = 0, errors = 0, histogram = {} } = rows.find((row) => row.side === side) ?? {};
    return { calls, errors, error_rate: calls === 0 ? 0 : errors / calls, p95_ms: quantile(histogram, 0.95) };
  };
  return { live: of('live'), canary: of('canary') };
}

const NONE: CanarySide = { calls: 0, errors: 0, error_rate: 0, p95_ms: quantile({}, 0.95) };
/** The counts of a canary that starts. */
export const NO_CALLS: Sides = { live: NONE, canary: NONE };
