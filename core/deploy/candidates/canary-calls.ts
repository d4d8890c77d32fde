import { and, eq } from 'drizzle-orm';
import type { App } from '#core/app.ts';
import type { CanarySide } from '#core/contract/deploy/canary-state.ts';
import type { CallGroup, Calls } from '#core/contract/observe/usage-batch.ts';
import { NEVER_RAN, outcomeOf } from '#core/contract/observe/outcomes.ts';
import { addDuration, type Histogram, mergeInto, quantile } from '#core/lib/histogram.ts';
import type { Db } from '#core/store/open.ts';

type Side = 'live' | 'canary';

interface Counted {
  calls: number;
  errors: number;
  readonly histogram: Histogram;
}

/**
 * Counts the calls of a batch on their sides, in the transaction that stores the batch, so that each is counted once. Servers take
 * turns in it already. @returns whether there were any.
 */
export async function countOnSides(app: App, tx: Db, groups: readonly CallGroup[], calls: Calls): Promise<boolean> {
  if (!groups.some(({ canary }) => canary)) return false;
  const { canary_sides: sides } = app.store.tables;
  for (const { id, side, counted } of sumsOf(groups, calls)) {
    const which = and(eq(sides.canary_id, id), eq(sides.side, side));
    const [stored] = await tx.select().from(sides).where(which);
    // The canary of a batch that came very late may be forgotten.
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

function sumsOf(groups: readonly CallGroup[], { group, duration_ms, error }: Calls) {
  const sums = new Map<string, { readonly id: string; readonly side: Side; readonly counted: Counted }>();
  const of_group = groups.map(({ canary }) => {
    if (!canary) return null;
    const { id, side } = canary;
    const found = sums.get(`${side} ${id}`) ?? { id, side, counted: { calls: 0, errors: 0, histogram: {} } };
    sums.set(`${side} ${id}`, found);
    return found.counted;
  });
  for (const [n, place] of group.entries()) {
    const counted = of_group[place];
    if (!counted) continue;
    const code = error[n] ?? null;
    counted.calls += 1;
    if (code !== null) counted.errors += 1;
    if (!NEVER_RAN.has(outcomeOf(code))) addDuration(counted.histogram, duration_ms[n] ?? 0);
  }
  return sums.values();
}

/** What was counted so far. */
export async function sidesOf(app: App, canary_id: string, tx: Db = app.store.db): Promise<Record<Side, CanarySide>> {
  const { canary_sides } = app.store.tables;
  const rows = await tx.select().from(canary_sides).where(eq(canary_sides.canary_id, canary_id));
  const of = (side: Side): CanarySide => {
    const { calls = 0, errors = 0, histogram = {} } = rows.find((row) => row.side === side) ?? {};
    return { calls, errors, error_rate: calls === 0 ? 0 : errors / calls, p95_ms: quantile(histogram, 0.95) };
  };
  return { live: of('live'), canary: of('canary') };
}
