import { neverRan, type CallOutcome, CALL_OUTCOMES, outcomeOf } from '#core/contract/observe/outcomes.ts';
import type { Calls } from '#core/contract/observe/usage-batch.ts';
import { addDuration, type Histogram } from '#core/lib/histogram.ts';

export const TEN_MS = 10_000;

/** Sums over calls. */
export interface Counts {
  calls: number;
  /** By the index of the outcome in `CALL_OUTCOMES`. */
  readonly outcomes: number[];
  waited_ms: number;
  longest_wait_ms: number;
  rows: number;
  bytes: number;
  tokens: number;
  /** Only of calls that ran. */
  duration_ms: number;
  readonly histogram: Histogram;
}

/** Calls of one group that ended within the same ten seconds. All stored sums consist of these. */
export interface Cell extends Counts {
  /** Index of the group in the batch. */
  readonly group: number;
  /** Start of the ten seconds, in ms since 1970. */
  readonly start: number;
  first_ms: number;
  last_ms: number;
}

/** Sums up the calls of a batch in one pass. @returns the cells in order of time, and for each call the index of its cell. */
export function countCalls(calls: Calls): { cells: Cell[]; cell_of: number[] } {
  const cells: Cell[] = [];
  const places = new Map<string, number>();
  /** The latest cell of each group. Calls are in order of time, so most calls belong to it. */
  const latest: number[] = [];
  const cell_of = calls.timestamp.map((at, n) => {
    const group = calls.group[n] ?? 0;
    const start = Math.floor(at / TEN_MS) * TEN_MS;
    let index = latest[group];
    if (index === undefined || cells[index]?.start !== start) {
      const key = `${group} ${start}`;
      index = places.get(key) ?? cells.push({ group, start, first_ms: at, last_ms: at, ...noCounts() }) - 1;
      places.set(key, index);
      latest[group] = index;
    }
    addCall(cells[index] as Cell, at, calls, n);
    return index;
  });
  return { cells, cell_of };
}

const noCounts = (): Counts => ({
  calls: 0,
  outcomes: CALL_OUTCOMES.map(() => 0),
  waited_ms: 0,
  longest_wait_ms: 0,
  rows: 0,
  bytes: 0,
  tokens: 0,
  duration_ms: 0,
  histogram: {},
});

function addCall(cell: Cell, at: number, calls: Calls, n: number): void {
  const { duration_ms, wait_ms, database_ms, rows, bytes, tokens, error } = calls;
  const outcome = outcomeOf(error[n] ?? null);
  const waited = wait_ms[n] ?? 0;
  const duration = duration_ms[n] ?? 0;
  if (at < cell.first_ms) cell.first_ms = at;
  if (at > cell.last_ms) cell.last_ms = at;
  cell.calls += 1;
  const index = CALL_OUTCOMES.indexOf(outcome);
  cell.outcomes[index] = (cell.outcomes[index] ?? 0) + 1;
  cell.waited_ms += waited;
  if (waited > cell.longest_wait_ms) cell.longest_wait_ms = waited;
  cell.rows += rows[n] ?? 0;
  cell.bytes += bytes[n] ?? 0;
  cell.tokens += tokens[n] ?? 0;
  if (neverRan(error[n] ?? null, database_ms[n])) return;
  cell.duration_ms += duration;
  addDuration(cell.histogram, duration);
}

export const countOf = ({ outcomes }: Pick<Counts, 'outcomes'>, outcome: CallOutcome): number =>
  outcomes[CALL_OUTCOMES.indexOf(outcome)] ?? 0;

export const errorsOf = (counts: Pick<Counts, 'calls' | 'outcomes'>): number => counts.calls - countOf(counts, 'ok');
