import type { Platform } from '#core/platform/platform.ts';
import { and, eq, gte } from 'drizzle-orm';
import { operations } from '#core/contract/index.ts';
import { byPlural, OWNED_KINDS } from '#core/contract/entities.ts';
import type { UsageKind } from '#core/contract/observe/calls.ts';
import { leastRole } from '#core/contract/operation.ts';
import { requireRole } from '#core/context/roles.ts';
import type { Context, Handlers } from '#core/context/context.ts';
import { readDeployMarks } from './deploy-marks.ts';
import { beforeOf, type Grid, gridBefore, gridOf, retentionOf, type Span, spanOf, widened } from './ranges.ts';
import { type Filter, isFiltered, readCallers, readNames, readTimes, type Series } from './read.ts';
import { toCallerStats, toPoint, toStats } from './stats.ts';
import { hourOf } from './sums.ts';

export const metricsHandlers: Pick<Handlers, `metrics.${'stats' | 'timeseries'}`> = {
  'metrics.stats': async (context, { period, since, until, by, compare, ...filter }) => {
    const { app } = context;
    if (by !== 'tool') refuseWhose(context);
    refuseOthers(context, filter);
    const windows = await retentionOf(app, by !== 'tool' || isFiltered(filter));
    const requested = spanOf({ period, since, until }, '24h', windows);
    const answer = async (span: Span) => {
      const [names, callers] = await Promise.all([
        readNames(app, span, filter),
        by === 'tool' ? undefined : readCallers(app, span, filter).then((rows) => toCallerStats(app, rows, by)),
      ]);
      const kinds = byPlural(OWNED_KINDS, (kind) => toStats(names.filter((row) => row.kind === kind)));
      return { ...toTimes(span), ...kinds, ...(callers && { callers }) };
    };
    const before = compare ? widened(beforeOf(requested, windows), windows) : undefined;
    return { ...(await answer(widened(requested, windows))), ...(before && { previous: await answer(before) }) };
  },
  'metrics.timeseries': async (context, { period, since, until, tool, kind, interval_seconds, compare, ...filter }) => {
    const { app } = context;
    refuseOthers(context, filter);
    const windows = await retentionOf(app, isFiltered(filter));
    const grid = gridOf({ period, since, until }, interval_seconds, windows);
    const before = compare ? gridBefore(grid, windows) : undefined;
    const of = tool === undefined ? null : await seriesNamed(app, kind, tool, before ?? grid);
    return {
      period: since === undefined ? (period ?? '1h') : null,
      ...toTimes(grid),
      interval_seconds: grid.step / 1_000,
      points: await readPoints(app, grid, filter, of),
      deploys: await readDeployMarks(app, grid),
      ...(before && { previous: { ...toTimes(before), points: await readPoints(app, before, filter, of) } }),
    };
  },
};

const toTimes = ({ from, until }: Span) => ({ since: new Date(from).toISOString(), until: new Date(until).toISOString() });

/** Callers are visible to roles that may read the request log. */
const refuseWhose = ({ actor }: Context): void => {
  if (actor !== null) requireRole(actor, leastRole(operations['logs.list']));
};

function refuseOthers(context: Context, { client, person, token }: Filter): void {
  if (isFiltered({ client, person, token })) refuseWhose(context);
}

async function readPoints(app: Platform, grid: Grid, filter: Filter, of: Series | null) {
  const { step, from, until } = grid;
  const totals = await readTimes(app, grid, step, filter, of);
  return Array.from({ length: (until - from) / step }, (_, index) => {
    const at = from + index * step;
    return { timestamp: new Date(at).toISOString(), ...toPoint(totals.get(at)) };
  });
}

const ID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/;

/** An id matches every name that its definition had, also after its deletion. An unknown name gives a series of zeros. */
async function seriesNamed({ store }: Platform, kind: UsageKind, name_or_id: string, { from }: Span): Promise<Series> {
  if (!ID.test(name_or_id)) return { kind, names: [name_or_id], entity_id: null };
  const { tools, resources, prompts, usage_series: series } = store.tables;
  const table = { tool: tools, resource: resources, prompt: prompts }[kind];
  const counted = and(eq(series.seconds, 3_600), gte(series.start, hourOf(from)), eq(series.kind, kind));
  const [now, earlier] = await Promise.all([
    store.db.select({ name: table.name }).from(table).where(eq(table.id, name_or_id)),
    store.db
      .selectDistinct({ name: series.name })
      .from(series)
      .where(and(counted, eq(series.entity_id, name_or_id))),
  ]);
  return { kind, names: [...new Set([...now, ...earlier].map(({ name }) => name))], entity_id: name_or_id };
}
