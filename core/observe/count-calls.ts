import { neverRan, type CallOutcome, CALL_OUTCOMES, outcomeOf } from '#core/contract/observe/outcomes.ts';
import type { Calls } from '#core/contract/observe/usage-batch.ts';
import { addDuration, type Histogram } from '#core/lib/histogram.ts';

export const TEN_MS = 10_000;

/** What is added up of calls. */
export interface Counts {
  calls: number;
  /** By the place of the outcome in `OUTCOMES`. */
  readonly outcomes: number[];
  waited_ms: number;
  longest_wait_ms: number;
  rows: number;
  bytes: number;
  tokens: number;
  /** Of those that ran. */
  duration_ms: number;
  readonly histogram: Histogram;
}

/** Calls of one group that ended within the same ten seconds. Whatever a batch is added to is a sum of these. */
export interface Cell extends Counts {
  /** Place of the group in the batch. */
  readonly group: number;
  /** Beginning of the ten seconds, in ms since 1970. */
  readonly start: number;
  first_ms: number;
  last_ms: number;
}

/** Looks once at every call of a batch. @returns the cells, the first to begin first, and the place of its cell for each call. */
export function countCalls(calls: Calls): { cells: Cell[]; cell_of: number[] } {
  const cells: Cell[] = [];
  const places = new Map<string, number>();
  /** Calls come in the order of time, so that the cell of the call before is mostly the one. */
  const latest: number[] = [];
  const cell_of = calls.timestamp.map((at, n) => {
    const group = calls.group[n] ?? 0;
    const start = Math.floor(at / TEN_MS) * TEN_MS;
    let place = latest[group];
    if (place === undefined || cells[place]?.start !== start) {
      const key = `${group} ${start}`;
      place = places.get(key) ?? cells.push({ group, start, first_ms: at, last_ms: at, ...noCounts() }) - 1;
      places.set(key, place);
      latest[group] = place;
    }
    addCall(cells[place] as Cell, at, calls, n);
    return place;
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
  const place = CALL_OUTCOMES.indexOf(outcome);
  cell.outcomes[place] = (cell.outcomes[place] ?? 0) + 1;
  cell.waited_ms += waited;
  if (waited > cell.longest_wait_ms) cell.longest_wait_ms = waited;
  cell.rows += rows[n] ?? 0;
  cell.bytes += bytes[n] ?? 0;
  cell.tokens += tokens?.[n] ?? 0;
  if (neverRan(error[n] ?? null, database_ms?.[n])) return;
  cell.duration_ms += duration;
  addDuration(cell.histogram, duration);
}

export const countOf = ({ outcomes }: Pick<Counts, 'outcomes'>, outcome: CallOutcome): number =>
  outcomes[CALL_OUTCOMES.indexOf(outcome)] ?? 0;

export const errorsOf = (counts: Pick<Counts, 'calls' | 'outcomes'>): number => counts.calls - countOf(counts, 'ok');
