import type { Platform } from '#core/platform/platform.ts';
import { and, eq, inArray } from 'drizzle-orm';
import { CALL_OUTCOMES } from '#core/contract/observe/outcomes.ts';
import type { CallGroup } from '#core/contract/observe/usage-batch.ts';
import type { Db } from '#core/store/store.ts';
import { coarsen, mergeInto } from '#core/lib/histogram.ts';
import { clientName } from '#core/observe/call-filters.ts';
import { type Cell, TEN_MS } from '../count-calls.ts';
import { MINUTE_MS } from '../metrics/sums.ts';
import {
  addFailed,
  addSums,
  createMatrix,
  type Matrix,
  mergeMatrix,
  type Pair,
  pairOf,
  toCells,
  toSums,
} from './traffic-matrix.ts';

/** Retention by the length of a span in seconds: minutes for the past, ten seconds for the live view. */
export const TRAFFIC_RETENTION_MS = { 10: 10 * 60_000, 60: 3 * 3_600_000 } as const;
export const TRAFFIC_SECONDS = [10, 60] as const;
/** Rows per statement. */
const PAGE = 500;

/** Adds calls to the spans in which they ended. One server at a time: see `takeTurns`. */
export async function addToTraffic(app: Platform, tx: Db, groups: readonly CallGroup[], cells: readonly Cell[]): Promise<void> {
  const now = app.clock().getTime();
  const tens = spansOf(groups, cells, now - TRAFFIC_RETENTION_MS[60]);
  const minutes = new Map<number, Matrix>();
  for (const [start, matrix] of tens) {
    const minute = Math.floor(start / MINUTE_MS) * MINUTE_MS;
    const known = minutes.get(minute) ?? createMatrix();
    minutes.set(minute, known);
    mergeMatrix(known, matrix);
  }
  for (const start of tens.keys()) if (start < now - TRAFFIC_RETENTION_MS[10]) tens.delete(start);
  await add(app, tx, 10, tens);
  await add(app, tx, 60, minutes);
}

/** Spans of ten seconds, by their start. */
function spansOf(groups: readonly CallGroup[], cells: readonly Cell[], oldest: number): Map<number, Matrix> {
  const spans = new Map<number, Matrix>();
  for (const cell of cells) {
    const group = groups[cell.group];
    if (group === undefined || cell.start + TEN_MS <= oldest) continue;
    const matrix = spans.get(cell.start) ?? createMatrix();
    spans.set(cell.start, matrix);
    addCell(pairOf(matrix, clientName(group.client) ?? '', group), cell);
  }
  return spans;
}

function addCell(pair: Pair, { calls, waited_ms, longest_wait_ms, outcomes, histogram }: Cell): void {
  pair.calls += calls;
  pair.waited_ms += waited_ms;
  pair.longest_ms = Math.max(pair.longest_ms, longest_wait_ms);
  for (const [index, count] of outcomes.entries()) if (count > 0 && index !== OK) addFailed(pair, index, count);
  mergeInto(pair.histogram, coarsen(histogram));
}

const OK = CALL_OUTCOMES.indexOf('ok');

async function add(app: Platform, tx: Db, seconds: 10 | 60, spans: ReadonlyMap<number, Matrix>): Promise<void> {
  const { traffic } = app.store.tables;
  const named = [...spans].map(([start, matrix]) => [new Date(start).toISOString(), matrix] as const);
  for (let first = 0; first < named.length; first += PAGE) {
    const page = new Map(named.slice(first, first + PAGE));
    const stored = await tx
      .select({ start: traffic.start, sums: traffic.sums })
      .from(traffic)
      .where(and(eq(traffic.seconds, seconds), inArray(traffic.start, [...page.keys()])));
    for (const { start, sums } of stored) {
      const known = createMatrix();
      addSums(known, sums);
      mergeMatrix(known, page.get(start) ?? createMatrix());
      page.set(start, known);
    }
    for (const [start, matrix] of page) {
      // Spans of ten seconds are only read together with others.
      const row = { cells: seconds === 60 ? JSON.stringify(toCells(matrix)) : '', sums: toSums(matrix) };
      await tx
        .insert(traffic)
        .values({ seconds, start, ...row })
        .onConflictDoUpdate({ target: [traffic.seconds, traffic.start], set: row });
    }
  }
}
