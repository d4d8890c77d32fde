import type { UsageKind } from '#core/contract/observe/calls.ts';
import type { CallGroup } from '#core/contract/observe/usage-batch.ts';
import { type Histogram, mergeInto } from '#core/lib/histogram.ts';
import { type Cell, countOf, errorsOf } from '../count-calls.ts';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
/** Start of the span that contains a time. */
export const startOf = (ms: number, step_ms: number): string => new Date(Math.floor(ms / step_ms) * step_ms).toISOString();
export const hourOf = (ms: number): string => startOf(ms, HOUR_MS);

/** Errors that the tool did not cause. */
export const OTHER_ERRORS = ['refused', 'no_slot', 'timeout', 'cancelled', 'rate_limited'] as const;
const MEASURES = ['duration_ms', 'rows', 'bytes'] as const;
export const ADDED = ['calls', 'errors', ...OTHER_ERRORS, ...MEASURES] as const;

/** Calls of one name within one span. */
export interface Sum {
  readonly seconds: 60 | 3_600 | 86_400;
  /** Minutes, hours or days since 1970. */
  readonly span: number;
  readonly kind: UsageKind | 'all';
  readonly name: string;
  /** Only in a series of callers. */
  readonly caller_id: number;
  readonly connection_id: string;
  entity_id: string | null;
  calls: number;
  errors: number;
  refused: number;
  no_slot: number;
  timeout: number;
  cancelled: number;
  rate_limited: number;
  duration_ms: number;
  rows: number;
  bytes: number;
  last_ms: number;
  readonly histogram: Histogram;
}

type Counted = Pick<Sum, 'kind' | 'name' | 'caller_id' | 'connection_id' | 'entity_id'>;

const sumOf = (seconds: Sum['seconds'], span: number, of: Counted): Sum => ({
  seconds,
  span,
  kind: of.kind,
  name: of.name,
  caller_id: of.caller_id,
  connection_id: of.connection_id,
  entity_id: of.entity_id,
  calls: 0,
  errors: 0,
  refused: 0,
  no_slot: 0,
  timeout: 0,
  cancelled: 0,
  rate_limited: 0,
  duration_ms: 0,
  rows: 0,
  bytes: 0,
  last_ms: 0,
  histogram: {},
});

/** Adds every cell to the minute of its name. The minutes of kind `all`, hours and days are sums of those. */
export function sumsOfNames(groups: readonly CallGroup[], cells: readonly Cell[]): Sum[] {
  const minutes = toMinutes(
    countedBy(groups, ({ kind, name, entity_id }) => ({ ...NO_CALLER, kind, name, entity_id })),
    cells,
  );
  return [...minutes, ...wider(minutes, ({ span }) => sumOf(60, span, ALL)), ...hoursOf(minutes), ...daysOf(minutes)];
}

/**
 * Like `sumsOfNames`, per caller. @param callers of each group.
 */
export function sumsOfCallers(groups: readonly CallGroup[], callers: readonly number[], cells: readonly Cell[]): Sum[] {
  const counted = countedBy(groups, ({ kind, name, entity_id, connection_id }, index) => {
    return { kind, name, entity_id, caller_id: callers[index] ?? 0, connection_id: connection_id ?? '' };
  });
  const minutes = toMinutes(counted, cells);
  return [...minutes, ...hoursOf(minutes), ...daysOf(minutes)];
}

const hoursOf = (minutes: readonly Sum[]): Sum[] =>
  wider(minutes, (minute) => sumOf(3_600, Math.floor(minute.span / 60), minute));

const daysOf = (minutes: readonly Sum[]): Sum[] =>
  wider(minutes, (minute) => sumOf(86_400, Math.floor(minute.span / 1_440), minute));

/** Sums of minutes by the key that `make` returns. */
function wider(minutes: readonly Sum[], make: (minute: Sum) => Sum): Sum[] {
  const found = new Map<string, Sum>();
  for (const minute of minutes) {
    const fresh = make(minute);
    const key = keyOf(fresh, fresh.span);
    const known = found.get(key) ?? fresh;
    found.set(key, known);
    addSum(known, minute);
  }
  return [...found.values()];
}

const keyOf = ({ kind, name, caller_id, connection_id }: Counted, span?: number): string =>
  `${span} ${kind} ${caller_id} ${connection_id} ${name}`;

const NO_CALLER = { caller_id: 0, connection_id: '' } as const;
const ALL = { ...NO_CALLER, kind: 'all', name: '', entity_id: null } as const;

function toMinutes({ counted, index_of }: CountedGroups, cells: readonly Cell[]): Sum[] {
  const sums = new Map<number, Sum>();
  for (const cell of cells) {
    const index = index_of[cell.group] ?? 0;
    const span = Math.floor(cell.start / MINUTE_MS);
    const key = span * counted.length + index;
    const sum = sums.get(key) ?? sumOf(60, span, counted[index] ?? ALL);
    sums.set(key, sum);
    addCell(sum, cell);
  }
  return [...sums.values()];
}

interface CountedGroups {
  readonly counted: readonly Counted[];
  /** By group. */
  readonly index_of: readonly number[];
}

/** Merges groups with the same key. */
function countedBy(groups: readonly CallGroup[], read: (group: CallGroup, index: number) => Counted): CountedGroups {
  const counted: Counted[] = [];
  const places = new Map<string, number>();
  const index_of = groups.map((group, nth) => {
    const one = read(group, nth);
    const key = keyOf(one);
    const index = places.get(key) ?? counted.push({ ...one, entity_id: null }) - 1;
    places.set(key, index);
    const known = counted[index];
    if (known !== undefined) known.entity_id = one.entity_id ?? known.entity_id;
    return index;
  });
  return { counted, index_of };
}

function addCell(to: Sum, cell: Cell): void {
  to.calls += cell.calls;
  to.errors += errorsOf(cell);
  for (const outcome of OTHER_ERRORS) to[outcome] += countOf(cell, outcome);
  for (const name of MEASURES) to[name] += cell[name];
  to.last_ms = Math.max(to.last_ms, cell.last_ms);
  mergeInto(to.histogram, cell.histogram);
}

function addSum(to: Sum, sum: Sum): void {
  for (const name of ADDED) to[name] += sum[name];
  to.last_ms = Math.max(to.last_ms, sum.last_ms);
  mergeInto(to.histogram, sum.histogram);
}
