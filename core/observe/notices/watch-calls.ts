import type { Platform } from '#core/platform/platform.ts';
import type { WithInsights } from '#core/observe/insights/usage-of-period.ts';
import type { WithSnapshots } from '#core/versions/stored-snapshots.ts';
import { and, count, eq, gte, inArray, isNotNull, max, notLike, sql } from 'drizzle-orm';
import { runEvery } from '#core/platform/run-every.ts';
import type { NoticeEvent } from '#core/contract/observe/notices.ts';
import { NO_TOKEN } from '#core/contract/observe/refusal-sentences.ts';
import { type CallOutcome, outcomeOf } from '#core/contract/observe/outcomes.ts';
import { pagesOf } from '#core/lib/slices.ts';
import { PAGE } from '#core/store/trees.ts';
import { readLive } from '../insights/live.ts';
import { MINUTE_MS, startOf } from '../metrics/sums.ts';
import { beginNotice, endNotice, lastingKeys } from '#core/records/events.ts';

const LOOK_MS = 30_000;
const MINUTES = 5;
/** A tool is failing with this many failed calls and this share of all. It recovers below the second share. */
const LEAST_FAILED = 5;
const SHARE = 0.8;
const OVER_SHARE = 0.5;
const LEAST_REJECTED = 5;
/** Clients retry a few times with an old token when it ends. */
const LEAST_REFUSED = 20;

/**
 * Reports failing definitions, full queues and refused access tokens, and when they recover. @returns a function that stops it.
 */
export const watchCalls = (app: Platform & WithInsights & WithSnapshots): (() => void) =>
  runEvery(app, { every_ms: LOOK_MS, what: 'watching the calls', work: () => lookAtCalls(app) });

/** Checks the last minutes once. Servers that check at the same time find the same. */
export async function lookAtCalls(app: Platform & WithInsights & WithSnapshots): Promise<void> {
  const failed = await readFailed(app);
  await settle(app, 'tool_failing', await failingIn(app, failed));
  await settle(app, 'queue_full', await fullIn(app, failed));
  await settle(app, 'sign_ins_refused', await refusedIn(app));
}

/** A lasting problem that a check found. */
interface Seen {
  readonly key: string;
  /** Whether the problem starts, and whether it continues once it started. */
  readonly begins: boolean;
  readonly lasts: boolean;
  readonly data: Readonly<Record<string, unknown>>;
}

async function settle(app: Platform, event: NoticeEvent, seen: readonly Seen[]): Promise<void> {
  const open = await lastingKeys(app, event);
  for (const { key, begins, data } of seen) if (begins && !open.has(key)) await beginNotice(app, event, key, data);
  const lasting = new Set(seen.flatMap(({ key, lasts }) => (lasts ? [key] : [])));
  for (const key of open) if (!lasting.has(key)) await endNotice(app, key);
}

const begunSince = (app: Platform): number => app.clock().getTime() - MINUTES * MINUTE_MS;

type Failed = Awaited<ReturnType<typeof readFailed>>[number];

/** Failed calls of the last minutes, by definition and outcome. */
async function readFailed(app: Platform) {
  const { request_logs: table } = app.store.tables;
  const { kind, name, connection_id, error, canary } = table;
  return app.store.db
    .select({ kind, name, connection_id, error, calls: count() })
    .from(table)
    .where(and(isNotNull(error), gte(table.timestamp, new Date(begunSince(app)).toISOString()), sql`${canary} is null`))
    .groupBy(kind, name, connection_id, error);
}

/** Outcomes that a definition can cause. Wrong arguments of a caller do not count. */
const TOOL_FAULTS: ReadonlySet<CallOutcome> = new Set(['tool_error', 'timeout']);
const isToolFault = ({ error }: Failed): boolean => TOOL_FAULTS.has(outcomeOf(error)) && error !== 'invalid';

async function failingIn(app: Platform & WithInsights & WithSnapshots, failed: readonly Failed[]): Promise<Seen[]> {
  const groups = Map.groupBy(failed, ({ kind, name }) => `${kind}:${name}`);
  const suspects = [...groups].filter(([, rows]) => rows.some(isToolFault));
  const { tools } = await readLive(app, app.insights.live);
  const sums = await callsSince(
    app,
    suspects.flatMap(([, [row]]) => row?.name ?? []),
  );
  return suspects.flatMap(([group, rows]): Seen[] => {
    const [first] = rows;
    const sum = sums.get(group);
    if (first === undefined || sum === undefined) return [];
    const { kind, name } = first;
    // Failures before the deploy of the current definition do not count.
    if (kind === 'tool' && (tools.get(name)?.from ?? '') > new Date(begunSince(app)).toISOString()) return [];
    const of = (which: (row: Failed) => boolean) => rows.reduce((total, row) => total + (which(row) ? row.calls : 0), 0);
    const failed = of(isToolFault);
    const ran = Math.max(failed, sum.calls - of((row) => !isToolFault(row)));
    const begins = failed >= LEAST_FAILED && failed >= SHARE * ran;
    const data = { kind, id: sum.entity_id, name, failed, calls: ran, minutes: MINUTES };
    return [{ key: `tool_failing:${group}`, begins, lasts: failed >= OVER_SHARE * ran, data }];
  });
}

/** All calls of some names in the last minutes, including the whole first minute. */
async function callsSince(app: Platform, names: readonly string[]) {
  const { usage_series: table } = app.store.tables;
  const sums = new Map<string, { readonly calls: number; readonly entity_id: string | null }>();
  for (const page of pagesOf([...new Set(names)], PAGE)) {
    const rows = await app.store.db
      .select({
        kind: table.kind,
        name: table.name,
        entity_id: max(table.entity_id),
        calls: sql<number | string>`sum(${table.calls})`,
      })
      .from(table)
      .where(and(eq(table.seconds, 60), gte(table.start, startOf(begunSince(app), MINUTE_MS)), inArray(table.name, page)))
      .groupBy(table.kind, table.name);
    for (const { kind, name, calls, entity_id } of rows) sums.set(`${kind}:${name}`, { calls: Number(calls), entity_id });
  }
  return sums;
}

async function fullIn(app: Platform, failed: readonly Failed[]): Promise<Seen[]> {
  const { connections } = app.store.tables;
  const rejected = failed.filter(({ error, connection_id }) => connection_id !== null && outcomeOf(error) === 'no_slot');
  const groups = Map.groupBy(rejected, ({ connection_id }) => connection_id ?? '');
  if (groups.size === 0) return [];
  const rows = await app.store.db
    .select({ id: connections.id, name: connections.name })
    .from(connections)
    .where(inArray(connections.id, [...groups.keys()]));
  return rows.map(({ id, name }) => {
    const calls = (groups.get(id) ?? []).reduce((total, row) => total + row.calls, 0);
    const data = { id, name, rejected: calls, minutes: MINUTES };
    return { key: `queue_full:${id}`, begins: calls >= LEAST_REJECTED, lasts: true, data };
  });
}

/** Requests with an invalid token. Clients send requests without a token to learn where to sign in. */
async function refusedIn(app: Platform): Promise<Seen[]> {
  const { refusals: table } = app.store.tables;
  const rows = await app.store.db
    .select({ address: table.address, requests: count() })
    .from(table)
    .where(
      and(
        eq(table.kind, 'unauthenticated'),
        gte(table.timestamp, new Date(begunSince(app)).toISOString()),
        notLike(table.reason, `${NO_TOKEN}%`),
      ),
    )
    .groupBy(table.address);
  const refused = rows.reduce((total, { requests }) => total + requests, 0);
  if (refused === 0) return [];
  const { address } = rows.toSorted((a, b) => b.requests - a.requests)[0] ?? {};
  const data = { refused, address: rows.length === 1 ? address : null, minutes: MINUTES };
  return [{ key: 'sign_ins_refused', begins: refused >= LEAST_REFUSED, lasts: refused >= LEAST_REFUSED / 2, data }];
}
