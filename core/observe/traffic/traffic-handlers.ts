import type { Platform } from '#core/platform/platform.ts';
import { and, asc, desc, eq, gte, lt } from 'drizzle-orm';
import { calls } from '#core/contract/observe/calls.ts';
import { CALL_OUTCOMES } from '#core/contract/observe/outcomes.ts';
import type { Traffic, TrafficSpan } from '#core/contract/observe/traffic.ts';
import { holds } from '#core/contract/roles.ts';
import { leastRole } from '#core/contract/operation.ts';
import { roleOf } from '#core/context/roles.ts';
import type { Actor, Handlers } from '#core/context/context.ts';
import {
  addSums,
  type Cells,
  createMatrix,
  type Definition,
  definitionKey,
  type Matrix,
  indexIn,
  toCells,
} from './traffic-matrix.ts';
import { TRAFFIC_RETENTION_MS } from './traffic.ts';
import { TEN_MS } from '#core/observe/count-calls.ts';
import { HOUR_MS, MINUTE_MS, startOf } from '#core/observe/metrics/sums.ts';

export const trafficHandlers: Pick<Handlers, 'flow.traffic'> = {
  'flow.traffic': async ({ app, actor }, { since, until, interval_seconds }) => {
    const now = app.clock().getTime();
    const last = until === undefined ? now : Date.parse(until);
    const first = Math.max(since === undefined ? last - HOUR_MS : Date.parse(since), now - TRAFFIC_RETENTION_MS[60]);
    const from = startOf(first, MINUTE_MS);
    const [spans, live, last_called_at] = await Promise.all([
      spansOf(app, from, new Date(last).toISOString(), interval_seconds),
      until === undefined ? liveOf(app, now) : null,
      lastCalledAt(app),
    ]);
    const names = createNames(seesClients(actor));
    return {
      since: from,
      until: new Date(last).toISOString(),
      interval_seconds,
      spans: spans.map((span) => names.toSpan(span)),
      now: live === null ? null : names.toSpan(live),
      outcomes: [...CALL_OUTCOMES],
      last_called_at,
      ...names.lists(),
    };
  },
};

/** Readers of the request log see client names. Tokens are not people: what a token may read contains the names anyway. */
function seesClients(actor: Actor | null): boolean {
  const role = actor === null ? 'caller' : roleOf(actor);
  return role === null || holds(role, leastRole(calls['logs.list']) ?? 'admin');
}

interface Span extends Cells {
  readonly timestamp: string;
  readonly seconds: number;
}

async function spansOf(app: Platform, from: string, until: string, interval_seconds: number): Promise<Span[]> {
  const { traffic } = app.store.tables;
  const within = and(eq(traffic.seconds, 60), gte(traffic.start, from), lt(traffic.start, until));
  const { start, cells, sums } = traffic;
  const minute = interval_seconds === 60;
  const rows = await app.store.db
    .select({ start, text: minute ? cells : sums })
    .from(traffic)
    .where(within)
    .orderBy(asc(start));
  if (minute) return rows.map((row) => ({ timestamp: row.start, seconds: 60, ...(JSON.parse(row.text) as Cells) }));
  const step = interval_seconds * 1_000;
  const origin = Date.parse(from);
  const by_start = Map.groupBy(rows, (row) => origin + Math.floor((Date.parse(row.start) - origin) / step) * step);
  return [...by_start].map(([at, of]) => ({
    timestamp: new Date(at).toISOString(),
    seconds: interval_seconds,
    ...toCells(mergeAll(of.map(({ text }) => text))),
  }));
}

/** The last minute, up to the present. */
async function liveOf(app: Platform, now: number): Promise<Span> {
  const { traffic } = app.store.tables;
  const from = startOf(now - 5 * TEN_MS, TEN_MS);
  const rows = await app.store.db
    .select({ sums: traffic.sums })
    .from(traffic)
    .where(and(eq(traffic.seconds, 10), gte(traffic.start, from)))
    .orderBy(asc(traffic.start));
  const seconds = (now - Date.parse(from)) / 1_000;
  return { timestamp: from, seconds, ...toCells(mergeAll(rows.map(({ sums }) => sums))) };
}

function mergeAll(stored: readonly string[]): Matrix {
  const all = createMatrix();
  for (const sums of stored) addSums(all, sums);
  return all;
}

async function lastCalledAt(app: Platform): Promise<string | null> {
  const { usage_series } = app.store.tables;
  const [row] = await app.store.db
    .select({ last_called_at: usage_series.last_called_at })
    .from(usage_series)
    .where(and(eq(usage_series.seconds, 60), eq(usage_series.kind, 'all')))
    .orderBy(desc(usage_series.start))
    .limit(1);
  return row?.last_called_at ?? null;
}

/** Collects one list of names for all spans of a response. */
function createNames(sees_clients: boolean) {
  const clients = new Map<string, number>();
  const definitions = new Map<string, number>();
  const listed: Definition[] = [];
  const connections = new Map<string, number>();
  const placesOf = (cells: Cells) => ({
    client: cells.clients.map((name) => (sees_clients ? indexIn(clients, name) : 0)),
    definition: cells.definitions.map((definition) => {
      const index = indexIn(definitions, definitionKey(definition));
      const known = (listed[index] ??= definition);
      known.entity_id = definition.entity_id ?? known.entity_id;
      return index;
    }),
    connection: cells.connections.map((id) => indexIn(connections, id)),
  });
  const toSpan = ({ timestamp, seconds, ...cells }: Span): TrafficSpan => {
    const { client, definition, connection } = placesOf(cells);
    const two = (places: readonly number[], p95: readonly number[]) => places.flatMap((index, n) => [index, p95[n] ?? 0]);
    const shared = {
      timestamp,
      seconds,
      definitions: two(definition, cells.p95.definitions),
      connections: two(connection, cells.p95.connections),
      p95_ms: cells.p95.all,
    };
    const named = {
      pairs: renumber(cells.pairs, 6, client, definition),
      failures: renumber(cells.failures, 4, client, definition),
    };
    if (sees_clients) return { ...shared, ...named, clients: two(client, cells.p95.clients) };
    return { ...shared, ...mergeClients(named, cells, definition), clients: named.pairs.length === 0 ? [] : [0, cells.p95.all] };
  };
  return {
    toSpan,
    lists: (): Pick<Traffic, 'clients' | 'definitions' | 'connections'> => ({
      clients: sees_clients ? [...clients.keys()] : null,
      definitions: listed.map(({ kind, name, entity_id, connection_id }) => {
        const connection = connection_id === null ? -1 : indexIn(connections, connection_id);
        return { kind, name, entity_id, connection };
      }),
      connections: [...connections.keys()],
    }),
  };
}

function renumber(cells: readonly number[], width: number, client: readonly number[], definition: readonly number[]): number[] {
  const renumbered = cells.slice();
  for (let n = 0; n < renumbered.length; n += width) {
    renumbered[n] = client[renumbered[n] ?? 0] ?? 0;
    renumbered[n + 1] = definition[renumbered[n + 1] ?? 0] ?? 0;
  }
  return renumbered;
}

/** Merges all clients into one. */
function mergeClients(
  { pairs, failures }: Pick<TrafficSpan, 'pairs' | 'failures'>,
  { p95 }: Cells,
  places: readonly number[],
): Pick<TrafficSpan, 'pairs' | 'failures'> {
  const merged = new Map<number, number[]>();
  for (let n = 0; n < pairs.length; n += 6) {
    const [, definition = 0, calls = 0, , waited = 0, longest = 0] = pairs.slice(n, n + 6);
    const known = merged.get(definition) ?? [0, definition, 0, p95.definitions[places.indexOf(definition)] ?? 0, 0, 0];
    merged.set(definition, known);
    known[2] = (known[2] ?? 0) + calls;
    known[4] = (known[4] ?? 0) + waited;
    known[5] = Math.max(known[5] ?? 0, longest);
  }
  const failed = new Map<string, number[]>();
  for (let n = 0; n < failures.length; n += 4) {
    const [, definition = 0, outcome = 0, count = 0] = failures.slice(n, n + 4);
    const known = failed.get(`${definition} ${outcome}`) ?? [0, definition, outcome, 0];
    failed.set(`${definition} ${outcome}`, known);
    known[3] = (known[3] ?? 0) + count;
  }
  return { pairs: [...merged.values()].flat(), failures: [...failed.values()].flat() };
}
