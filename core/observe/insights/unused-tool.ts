import { and, eq, gte, inArray, lt, or, sql } from 'drizzle-orm';
import type { App } from '#core/app.ts';
import { callsOf, type Found, type InsightRule } from './insight.ts';
import { callsOfTool } from './observed.ts';
import { HOUR_MS, MINUTE_MS, startOf } from '../metrics/sums.ts';

/** A tool is called unused only when others were called so often. */
const LEAST_CALLS = 20;
/** Findings of this rule; a server that nobody uses has one finding a tool otherwise. */
const MOST = 50;

/** A tool that nobody called while others were: it costs tokens in every list and is one more to choose from. */
export const unusedTool: InsightRule = {
  name: 'unused-tool',
  find: async (app, observed) => {
    const { tools, served, usage, since, said } = observed;
    const unused = tools.filter(({ name }) => served.has(name) && !usage.has(name)).slice(0, MOST);
    if (unused.length === 0) return [];
    const came = await cameAt(
      app,
      unused.flatMap(({ name }) => served.get(name) ?? []),
    );
    const counted = new Map<string, Promise<number>>();
    const found = await Promise.all(
      unused.map(async ({ id, name, version }): Promise<Found[]> => {
        const changed = came.get(served.get(name) ?? '') ?? '';
        const is_young = changed > since;
        const from = is_young ? startOf(Date.parse(changed), MINUTE_MS) : since;
        const counting = counted.get(from) ?? callsSince(app, from);
        counted.set(from, counting);
        const others = await counting;
        if (others < LEAST_CALLS || (await callsOfTool(app, observed, name, 1)).length > 0) return [];
        return [
          {
            entity: { kind: 'tool', id, name },
            message: `${name} was not called once in ${said}${is_young ? ', since it was last changed' : ''}, while other tools had ${callsOf(others)}.`,
            advice: 'Disable or delete it, or say in its description when to use it.',
            logs: { name },
            calls: [],
            evidence: { count: 0, of: others, first_at: null, last_at: null },
            fix: { label: `Disable ${name}`, entity: { kind: 'tool', id }, changes: { version, enabled: false } },
          },
        ];
      }),
    );
    return found.flat();
  },
};

/** When the versions went live with which definitions came, by their hashes. */
async function cameAt({ store }: App, hashes: readonly string[]): Promise<Map<string, string>> {
  const { blobs, snapshots } = store.tables;
  const rows = await store.db
    .select({ hash: blobs.hash, created_at: snapshots.created_at })
    .from(blobs)
    .innerJoin(snapshots, eq(snapshots.version, blobs.since))
    .where(inArray(blobs.hash, [...hashes]));
  return new Map(rows.map(({ hash, created_at }) => [hash, created_at]));
}

/** Calls of tools: the hours that began since then, and before them the minutes that are still kept. */
async function callsSince({ store }: App, time: string): Promise<number> {
  const { usage_series: table } = store.tables;
  const whole = startOf(Date.parse(time) + HOUR_MS - 1, HOUR_MS);
  const hours = and(eq(table.seconds, 3_600), gte(table.start, whole));
  const minutes = and(eq(table.seconds, 60), gte(table.start, time), lt(table.start, whole));
  const [row] = await store.db
    .select({ calls: sql<number | string | null>`sum(${table.calls})` })
    .from(table)
    .where(and(eq(table.kind, 'tool'), or(hours, minutes)));
  return Number(row?.calls ?? 0);
}
