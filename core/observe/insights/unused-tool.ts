import type { Platform } from '#core/platform/platform.ts';
import { and, eq, sql } from 'drizzle-orm';
import { callsOf, type InsightDraft, type InsightRule } from './insight.ts';
import { callsOfTool } from './observed.ts';
import { DAY_MS } from '../metrics/sums.ts';
import { countedSince } from './usage-of-period.ts';

/** Minimum calls of other tools before a tool is reported as unused. */
const LEAST_CALLS = 20;
/** A newer tool may not have been needed yet. */
const LEAST_AGE_MS = DAY_MS;
/** Maximum findings of this rule. Otherwise an unused server would have one finding per tool. */
const MOST = 50;

/** A tool without calls although others are called: it costs tokens in every list and complicates the choice. */
export const unusedTool: InsightRule = {
  name: 'unused-tool',
  find: async (app, observed) => {
    const { tools, usage, since, period_text } = observed;
    const before = new Date(app.clock().getTime() - LEAST_AGE_MS).toISOString();
    const unused = tools.filter(({ name, live }) => live.from <= before && !usage.has(name)).slice(0, MOST);
    const counted = new Map<string, Promise<number>>();
    const found = await Promise.all(
      unused.map(async (tool): Promise<InsightDraft[]> => {
        const { id, name, version, live } = tool;
        const is_young = live.from > since;
        const from = is_young ? live.from : since;
        const counting = counted.get(from) ?? callsSince(app, from);
        counted.set(from, counting);
        const others = await counting;
        if (others < LEAST_CALLS || (await callsOfTool(app, observed, tool, 1)).length > 0) return [];
        return [
          {
            entity: { kind: 'tool', id, name },
            message: `${name} was not called once in ${period_text}${is_young ? ', since it was last changed' : ''}, while other tools had ${callsOf(others)}.`,
            advice: 'Say in its description when to use it. If no caller needs it, disable or delete it.',
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

/** Calls of all tools since a time. */
async function callsSince(app: Platform, time: string): Promise<number> {
  const { usage_series: table } = app.store.tables;
  const [row] = await app.store.db
    .select({ calls: sql<number | string | null>`sum(${table.calls})` })
    .from(table)
    .where(and(eq(table.kind, 'tool'), countedSince(app, time)));
  return Number(row?.calls ?? 0);
}
