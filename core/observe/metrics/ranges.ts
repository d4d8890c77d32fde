import type { Platform } from '#core/platform/platform.ts';
import {
  HOURS_RETENTION_DAYS,
  intervalFor,
  MINUTES_RETENTION_DAYS,
  MOST_POINTS,
  type Period,
  PERIOD_MINUTES,
} from '#core/contract/observe/metric-ranges.ts';
import { invalidField } from '#core/errors.ts';
import { readMeta } from '#core/store/meta.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from './sums.ts';

/** A time span in ms since 1970, without its end. */
export interface Span {
  readonly from: number;
  readonly until: number;
}

interface RangeRequest {
  readonly period?: Period | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

/** The stored range of a series: minutes since `minutes`, hours since `hours`. */
export interface RetentionWindows {
  readonly now: number;
  readonly minutes: number;
  readonly hours: number;
}

/** @param of_callers the minutes of callers are stored for a shorter time when there are very many. */
export async function retentionOf(app: Platform, of_callers: boolean): Promise<RetentionWindows> {
  const now = app.clock().getTime();
  const since = (days: number) => down(now - days * DAY_MS, HOUR_MS);
  const windows = { now, minutes: since(MINUTES_RETENTION_DAYS), hours: since(HOURS_RETENTION_DAYS) };
  if (!of_callers) return windows;
  const from = await readMeta(app.store, app.store.db, CALLER_MINUTES_FROM);
  return from === null ? windows : { ...windows, minutes: Math.max(windows.minutes, Date.parse(from)) };
}

/** Key of the time since which the minutes of callers are complete. */
export const CALLER_MINUTES_FROM = 'caller_minutes_from';

const down = (ms: number, step: number): number => Math.floor(ms / step) * step;
const up = (ms: number, step: number): number => Math.ceil(ms / step) * step;

/** The requested range in whole minutes, up to the current one. */
export function spanOf({ period, since, until }: RangeRequest, usual: Period, { now, hours }: RetentionWindows): Span {
  const end = down(now, MINUTE_MS) + MINUTE_MS;
  if (since === undefined) {
    if (until !== undefined) throw invalidField('until', 'Give since as well: a range needs its beginning.');
    return { from: end - PERIOD_MINUTES[period ?? usual] * MINUTE_MS, until: end };
  }
  if (period !== undefined) throw invalidField('period', 'Give either a period, or since and until.');
  const span = {
    from: down(Date.parse(since), MINUTE_MS),
    until: until === undefined ? end : Math.min(end, up(Date.parse(until), MINUTE_MS)),
  };
  if (span.from >= end) throw invalidField('since', 'since is in the future. Choose an earlier time.');
  if (span.from >= span.until) throw invalidField('until', 'until must be later than since.');
  if (span.from < hours) {
    throw invalidField('since', `Metrics are kept for ${HOURS_RETENTION_DAYS} days. Choose a later time.`);
  }
  return span;
}

/** The span of the same length just before. */
export function beforeOf({ from, until }: Span, { hours }: RetentionWindows): Span {
  const span = { from: from - (until - from), until: from };
  if (span.from >= hours) return span;
  const most = Math.floor(HOURS_RETENTION_DAYS / 2);
  throw invalidField(
    'compare',
    `The time before begins earlier than metrics are kept (${HOURS_RETENTION_DAYS} days). Choose a range of the last ${most} days, or do not compare.`,
  );
}

/** Extends a span to whole hours at each end where minutes are no longer stored. */
export const widened = ({ from, until }: Span, { minutes }: RetentionWindows): Span => ({
  from: from < minutes ? down(from, HOUR_MS) : from,
  until: until < minutes ? up(until, HOUR_MS) : until,
});

/** The points of a range. The first begins at `from`, the last ends at `until`. */
export interface Grid extends Span {
  readonly step: number;
}

/** @param step_seconds by default a minute for a period, and a suitable step for a range. */
export function gridOf(request: RangeRequest, step_seconds: number | undefined, windows: RetentionWindows): Grid {
  const span = spanOf(request, '1h', windows);
  const least = span.from < windows.minutes ? HOUR_MS / 1_000 : 60;
  const chosen = request.since === undefined ? 60 : intervalFor((span.until - span.from) / 1_000, least);
  const step = (step_seconds ?? chosen) * 1_000;
  const grid = { step, from: down(span.from, step), until: up(span.until, step) };
  // A period has as many points as fit. The last one is the current one.
  if (request.since === undefined) grid.from = grid.until - up(span.until - span.from, step);
  checkGrid(grid, windows);
  return grid;
}

function checkGrid({ step, from, until }: Grid, { minutes }: RetentionWindows): void {
  if ((until - from) / step > MOST_POINTS) {
    throw invalidField('interval_seconds', `This range has more than ${MOST_POINTS} points. Use a longer interval_seconds.`);
  }
  if (step % HOUR_MS !== 0 && from < minutes) {
    throw invalidField(
      'interval_seconds',
      `What is older than ${new Date(minutes).toISOString()} is kept per hour. Use an interval_seconds of whole hours, or a later range.`,
    );
  }
}

/** The same number of points before, with the same step. */
export function gridBefore(grid: Grid, windows: RetentionWindows): Grid {
  const before = { ...beforeOf(grid, windows), step: grid.step };
  checkGrid(before, windows);
  return before;
}

/** The rows of a series that cover part of a span. */
export interface Part extends Span {
  readonly seconds: number;
}

/** Covers a span with the widest rows that fit, and its ends with narrower ones. @param levels in seconds, the widest first. */
export function partsOf(span: Span, [seconds = 60, ...narrower]: readonly number[]): Part[] {
  const step = seconds * 1_000;
  const [from, until] = narrower.length === 0 ? [span.from, span.until] : [up(span.from, step), down(span.until, step)];
  if (from >= until) return narrower.length === 0 ? [] : partsOf(span, narrower);
  const ends =
    narrower.length === 0
      ? []
      : [
          { from: span.from, until: from },
          { from: until, until: span.until },
        ];
  return [{ seconds, from, until }, ...ends.filter((end) => end.from < end.until).flatMap((end) => partsOf(end, narrower))];
}
