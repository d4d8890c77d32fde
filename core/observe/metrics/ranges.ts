import type { Platform } from '#core/platform/platform.ts';
import {
  HOURS_KEPT_DAYS,
  intervalFor,
  MINUTES_KEPT_DAYS,
  MOST_POINTS,
  type Period,
  PERIOD_MINUTES,
} from '#core/contract/observe/metric-ranges.ts';
import { invalidField } from '#core/errors.ts';
import { readMeta } from '#core/store/meta.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from './sums.ts';

/** A stretch of time in ms since 1970; its end is not part of it. */
export interface Span {
  readonly from: number;
  readonly until: number;
}

interface RangeRequest {
  readonly period?: Period | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

/** What is kept of a series now: minutes from here on, and hours. */
export interface RetentionWindows {
  readonly now: number;
  readonly minutes: number;
  readonly hours: number;
}

/** @param of_callers their minutes end earlier where there are very many. */
export async function retentionOf(app: Platform, of_callers: boolean): Promise<RetentionWindows> {
  const now = app.clock().getTime();
  const since = (days: number) => down(now - days * DAY_MS, HOUR_MS);
  const kept = { now, minutes: since(MINUTES_KEPT_DAYS), hours: since(HOURS_KEPT_DAYS) };
  if (!of_callers) return kept;
  const from = await readMeta(app.store, app.store.db, CALLER_MINUTES_FROM);
  return from === null ? kept : { ...kept, minutes: Math.max(kept.minutes, Date.parse(from)) };
}

/** Says from when on the minutes of callers are all there. */
export const CALLER_MINUTES_FROM = 'caller_minutes_from';

export const down = (ms: number, step: number): number => Math.floor(ms / step) * step;
export const up = (ms: number, step: number): number => Math.ceil(ms / step) * step;

/** The time that is asked for, in whole minutes: the running minute is the last one. */
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
    throw invalidField('since', `Metrics are kept for ${HOURS_KEPT_DAYS} days. Choose a later time.`);
  }
  return span;
}

/** As long, right before it. */
export function beforeOf({ from, until }: Span, { hours }: RetentionWindows): Span {
  const span = { from: from - (until - from), until: from };
  if (span.from >= hours) return span;
  const most = Math.floor(HOURS_KEPT_DAYS / 2);
  throw invalidField(
    'compare',
    `The time before begins earlier than metrics are kept (${HOURS_KEPT_DAYS} days). Choose a range of the last ${most} days, or do not compare.`,
  );
}

/** Whole hours, at whichever end minutes are not kept any more. */
export const widened = ({ from, until }: Span, { minutes }: RetentionWindows): Span => ({
  from: from < minutes ? down(from, HOUR_MS) : from,
  until: until < minutes ? up(until, HOUR_MS) : until,
});

/** The points of a range: the first one begins at `from`, the last one ends at `until`. */
export interface Grid extends Span {
  readonly step: number;
}

/** @param asked in seconds; of a period a minute, of a range what suits its length. */
export function gridOf(wanted: RangeRequest, asked: number | undefined, kept: RetentionWindows): Grid {
  const span = spanOf(wanted, '1h', kept);
  const least = span.from < kept.minutes ? HOUR_MS / 1_000 : 60;
  const chosen = wanted.since === undefined ? 60 : intervalFor((span.until - span.from) / 1_000, least);
  const step = (asked ?? chosen) * 1_000;
  const grid = { step, from: down(span.from, step), until: up(span.until, step) };
  // A period is as many points as fit in it, the running one being the last.
  if (wanted.since === undefined) grid.from = grid.until - up(span.until - span.from, step);
  checkGrid(grid, kept);
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

/** The points before, with the same interval. */
export function gridBefore(grid: Grid, kept: RetentionWindows): Grid {
  const before = { ...beforeOf(grid, kept), step: grid.step };
  checkGrid(before, kept);
  return before;
}

/** Rows of a series that cover a part of a span. */
export interface Part extends Span {
  readonly seconds: number;
}

/** Covers a span by the widest rows that fit, and its ends by narrower ones. @param levels in seconds, the widest first. */
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
