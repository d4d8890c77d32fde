import type { Platform } from '#core/platform/platform.ts';
import { asc, desc, inArray, lte } from 'drizzle-orm';
import { announce } from '#core/platform/announcements.ts';
import type { AgentActivity } from '#core/contract/identity/agent-access.ts';
import type { Handlers } from '#core/context/context.ts';
import { reasonOf } from '#core/process/log.ts';
import { readPage } from '#core/store/pages.ts';
import { inPages } from './retention/session-retention.ts';

const MAX_ENTRIES = 10_000;

const PERIOD_MS = { '1h': 3_600_000, '6h': 6 * 3_600_000, '24h': 24 * 3_600_000, '7d': 7 * 24 * 3_600_000 } as const;

export const agentActivityHandlers: Pick<Handlers, `agent_activity.${'list' | 'stats'}`> = {
  'agent_activity.list': async ({ app }, { skip, limit, tool_name, token_prefix, success }) => {
    if (tool_name === undefined && token_prefix === undefined && success === undefined) return readNewest(app, skip, limit);
    const fits = (entry: AgentActivity): boolean =>
      (tool_name === undefined || entry.tool_name === tool_name) &&
      (token_prefix === undefined || entry.token_prefix === token_prefix) &&
      (success === undefined || entry.success === success);
    const found = (await readAll(app)).filter(fits);
    return { items: found.slice(skip, skip + limit), total: found.length };
  },
  'agent_activity.stats': async ({ app }, { period }) => {
    const since = new Date(app.clock().getTime() - PERIOD_MS[period]).toISOString();
    const entries = await readAll(app);
    const counted = entries.filter(({ timestamp }) => timestamp > since);
    const { calls, errors, avg_ms } = tally(counted);
    return {
      period,
      calls,
      errors,
      error_rate: calls === 0 ? 0 : Math.round((errors / calls) * 10_000) / 10_000,
      avg_ms,
      tokens: busiest(
        counted,
        ({ token_prefix, token_name }) => `${token_prefix} ${token_name}`,
        (first, sums) => ({
          token_prefix: first.token_prefix,
          token_name: first.token_name,
          calls: sums.calls,
          errors: sums.errors,
          // The newest call is first.
          last_called_at: first.timestamp,
        }),
      ),
      tools: busiest(
        counted,
        ({ tool_name }) => tool_name,
        ({ tool_name }, sums) => ({ tool_name, ...sums }),
      ),
      countries: busiest(
        counted,
        ({ country }) => country ?? '',
        ({ country }, sums) => ({
          country,
          calls: sums.calls,
          errors: sums.errors,
        }),
      ),
      complete: entries.length < MAX_ENTRIES || counted.length < entries.length,
    };
  },
};

type Sums = { readonly calls: number; readonly errors: number; readonly avg_ms: number };

function tally(entries: readonly AgentActivity[]): Sums {
  const spent = entries.reduce((sum, { duration_ms }) => sum + duration_ms, 0);
  return {
    calls: entries.length,
    errors: entries.filter(({ success }) => !success).length,
    avg_ms: entries.length === 0 ? 0 : Math.round((spent / entries.length) * 10) / 10,
  };
}

function busiest<T>(
  entries: readonly AgentActivity[],
  keyOf: (entry: AgentActivity) => string,
  show: (newest: AgentActivity, sums: Sums) => T,
): T[] {
  return [...Map.groupBy(entries, keyOf).values()]
    .toSorted((a, b) => b.length - a.length)
    .flatMap((group) => (group[0] === undefined ? [] : [show(group[0], tally(group))]));
}

/** Stores a call in the activity. An error of the store is logged and does not fail the call. */
export async function recordActivity(app: Platform, entry: AgentActivity): Promise<void> {
  const { agent_activity: table } = app.store.tables;
  try {
    await app.store.write((tx) => tx.insert(table).values({ id: app.ids(), entry }));
    announce(app, 'agent_activity');
  } catch (error) {
    app.log.warning('activity was not stored', { reason: reasonOf(error) });
  }
}

/** Deletes the oldest entries beyond the maximum. */
export async function forgetActivity(app: Platform): Promise<void> {
  const { agent_activity: table } = app.store.tables;
  const [surplus] = await app.store.db.select({ id: table.id }).from(table).orderBy(desc(table.id)).limit(1).offset(MAX_ENTRIES);
  if (surplus === undefined) return;
  await inPages(app, async (tx, most) => {
    const oldest = tx.select({ id: table.id }).from(table).where(lte(table.id, surplus.id)).orderBy(asc(table.id)).limit(most);
    return (await tx.delete(table).where(inArray(table.id, oldest)).returning({ id: table.id })).length;
  });
}

/** Newest first, up to the maximum. */
async function readNewest(app: Platform, skip: number, limit: number): Promise<{ items: AgentActivity[]; total: number }> {
  const { agent_activity: table } = app.store.tables;
  const most = Math.max(0, Math.min(limit, MAX_ENTRIES - skip));
  const { rows, total } = await readPage(app.store.db, table, { order: [desc(table.id)], skip, limit: most });
  return { items: rows.map(({ entry }) => entry), total: Math.min(MAX_ENTRIES, total) };
}

async function readAll(app: Platform): Promise<AgentActivity[]> {
  const { agent_activity: table } = app.store.tables;
  const rows = await app.store.db.select().from(table).orderBy(desc(table.id)).limit(MAX_ENTRIES);
  return rows.map(({ entry }) => entry);
}
