import { desc, lt } from 'drizzle-orm';
import type { App } from '#core/app.ts';
import type { AgentActivity } from '#core/contract/agent-access.ts';
import type { Handlers } from '#core/run.ts';

const KEY = 'agent-activity';
const KEPT = 10_000;
/** The table is cut after so many entries. */
const CUT_EVERY = 500;

export const agentActivityHandlers: Pick<Handlers, 'agent_activity.list'> = {
  'agent_activity.list': async ({ app }, { skip, limit, tool_name, token_prefix, success }) => {
    const fits = (entry: AgentActivity): boolean =>
      (tool_name === undefined || entry.tool_name === tool_name) &&
      (token_prefix === undefined || entry.token_prefix === token_prefix) &&
      (success === undefined || entry.success === success);
    const found = (await readAll(app)).filter(fits);
    return { items: found.slice(skip, skip + limit), total: found.length };
  },
};

/** Adds a call to the activity; a store that fails is logged and fails no call. */
export async function recordActivity(app: App, entry: AgentActivity): Promise<void> {
  try {
    await (isShared(app) ? app.kv.append(KEY, JSON.stringify(entry), KEPT) : store(app, entry));
  } catch (error) {
    app.log.warning('activity was not stored', { reason: error instanceof Error ? error.name : 'unknown' });
  }
}

/** A memory store ends with its process, so the metadata database keeps the activity there. */
const isShared = ({ env }: App): boolean => env.SVC_KV !== 'memory';

async function readAll(app: App): Promise<AgentActivity[]> {
  if (isShared(app)) return (await app.kv.range(KEY, 0, KEPT)).items.map((text) => JSON.parse(text) as AgentActivity);
  const { agent_activity: table } = app.store.tables;
  const rows = await app.store.db.select().from(table).orderBy(desc(table.id)).limit(KEPT);
  return rows.map(({ entry }) => entry);
}

async function store(app: App, entry: AgentActivity): Promise<void> {
  const { agent_activity: table } = app.store.tables;
  const { count } = await app.kv.increment(`${KEY}-cut`, 24 * 3_600_000);
  await app.store.write(async (tx) => {
    await tx.insert(table).values({ id: app.ids(), entry });
    if (count % CUT_EVERY !== 0) return;
    const [oldest] = await tx.select({ id: table.id }).from(table).orderBy(desc(table.id)).limit(1).offset(KEPT);
    if (oldest !== undefined) await tx.delete(table).where(lt(table.id, oldest.id));
  });
}
