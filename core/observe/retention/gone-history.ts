import type { Platform } from '#core/platform/platform.ts';
import { asc, eq, gt, inArray } from 'drizzle-orm';
import { ENTITIES, ENTITY_KINDS } from '#core/contract/entities.ts';
import type { EntityType } from '#core/contract/history.ts';
import type { Store } from '#core/store/store.ts';
import type { Schema } from '#core/store/schema.ts';
import type { HistoryRow } from '#core/records/history.ts';

const DAY_MS = 24 * 3_600_000;
/** For entries of deleted records, and of ids with few entries each, such as deploys: their total number has no limit. */
const RETENTION_MS = 365 * DAY_MS;
/** Entries that are checked together. */
const PAGE = 1_000;
/** Key of the time of the last run. It is stored because a run reads every old entry. */
const DONE = 'history_forgotten_at';

type Named = Pick<HistoryRow, 'id' | 'entity_type' | 'entity_id' | 'action'>;

/** Once a day, deletes history entries older than a year whose records no longer exist. */
export async function deleteOrphanedHistory(app: Platform): Promise<void> {
  const { history, meta } = app.store.tables;
  const now = app.clock().getTime();
  const [done] = await app.store.db.select().from(meta).where(eq(meta.key, DONE));
  const age = done === undefined ? DAY_MS : now - Date.parse(done.value);
  if (age >= 0 && age < DAY_MS) return;
  const { id, entity_type, entity_id, action, created_at } = history;
  const before = new Date(now - RETENTION_MS).toISOString();
  // Ids increase over time.
  let last = '';
  for (let more = true; more;) {
    const rows = await app.store.db
      .select({ id, entity_type, entity_id, action, created_at })
      .from(history)
      .where(gt(id, last))
      .orderBy(asc(id))
      .limit(PAGE);
    const old = rows.filter((row) => row.created_at < before);
    const gone = await goneAmong(app, old);
    if (gone.length > 0) await app.store.write((tx) => tx.delete(history).where(inArray(id, gone)));
    last = rows.at(-1)?.id ?? '';
    more = old.length === PAGE;
    // The next server continues.
    if (more && app.life.ending) return;
    await app.sleep(1);
  }
  const value = new Date(now).toISOString();
  await app.store.write((tx) =>
    tx.insert(meta).values({ key: DONE, value }).onConflictDoUpdate({ target: meta.key, set: { value } }),
  );
}

/** Entries whose record no longer exists. */
async function goneAmong({ store }: Platform, entries: readonly Named[]): Promise<string[]> {
  const gone: string[] = [];
  // Blocked changes have a separate limit, as they need not belong to a record.
  const recorded = entries.filter(({ action, entity_type }) => action !== 'blocked' && !SINGLE.has(entity_type));
  for (const [type, its] of Map.groupBy(recorded, ({ entity_type }) => entity_type)) {
    const ids = [...new Set(its.map(({ entity_id }) => entity_id))];
    const live = await liveAmong(store, type, ids);
    for (const { id, entity_id } of its) if (!live.has(entity_id)) gone.push(id);
  }
  return gone;
}

/** Records that always exist. */
const SINGLE: ReadonlySet<string> = new Set<EntityType>(['server_config', 'signing_key']);

async function liveAmong({ db, tables }: Store, type: string, ids: readonly string[]): Promise<ReadonlySet<string>> {
  if (type === 'snapshot') {
    // The ids of candidates and canaries are not version numbers.
    const versions = ids.map(Number).filter((version) => Number.isInteger(version));
    const { snapshots } = tables;
    const rows = await db.select({ version: snapshots.version }).from(snapshots).where(inArray(snapshots.version, versions));
    return new Set(rows.map(({ version }) => String(version)));
  }
  const name = TABLES[type];
  if (name === undefined) return new Set(ids);
  // All of these tables have the columns that are read here.
  const table = tables[name] as Schema['people'];
  const rows = await db
    .select({ id: table.id })
    .from(table)
    .where(inArray(table.id, [...ids]));
  return new Set(rows.map(({ id }) => id));
}

const TABLES: Readonly<Record<string, keyof Schema>> = {
  ...Object.fromEntries(ENTITY_KINDS.map((kind) => [kind, ENTITIES[kind].plural])),
  mcp_token: 'mcp_tokens',
  agent_token: 'agent_tokens',
  oauth_client: 'agent_clients',
  oauth_app: 'oauth_apps',
  grant: 'oauth_grants',
  notice: 'notices',
  identity_provider: 'identity_providers',
  admin: 'people',
  // A file has the id of its connection.
  file: 'connections',
};
