import { type Column, inArray, type SQL, sql } from 'drizzle-orm';
import type { App } from '#core/app.ts';
import type { Schema } from '#core/store/schema.ts';
import type { Db } from '#core/store/open.ts';
import type { Compiled } from '#snapshots/compile.ts';
import { type Configuration, createFreezeMemo, type FreezeMemo } from '#snapshots/freeze.ts';
import { readServerConfig } from '#core/definitions/settings/config.ts';
import type { ConnectionRow } from '#core/definitions/source-pool.ts';

type ToolRow = Schema['tools']['$inferSelect'];
type ResourceRow = Schema['resources']['$inferSelect'];
type ArtifactRow = { readonly id: string; readonly artifact: unknown };

/** A configuration as it is stored: whole rows. */
export interface StoredConfiguration extends Configuration {
  readonly connections: readonly ConnectionRow[];
  readonly tools: readonly ToolRow[];
  readonly resources: readonly ResourceRow[];
}

/** Rows and artifacts read before. Each is replaced as a whole and never changed, so that two reads at once cannot mix. */
export interface ConfigurationCache {
  tools: Kept<ToolRow>;
  compiled: Kept<ArtifactRow>;
  readonly memo: FreezeMemo;
}

/** Rows of a table by id, with what told then that they are the newest: a row whose head is the same is not read again. */
interface Kept<R> {
  /** All heads as one text. */
  readonly heads: string;
  readonly rows: ReadonlyMap<string, { readonly head: string; readonly row: R }>;
}

const NOTHING = { heads: '', rows: new Map<string, never>() };

export const createConfigurationCache = (): ConfigurationCache => ({
  tools: NOTHING,
  compiled: NOTHING,
  memo: createFreezeMemo(),
});

/** One consistent view of everything that a snapshot is made of. */
export async function readConfiguration(app: App): Promise<StoredConfiguration> {
  const { connections, resources, prompts } = app.store.tables;
  return app.store.read(async (tx) => ({
    server: await readServerConfig(app, tx),
    connections: await tx.select().from(connections),
    tools: await readTools(app, tx),
    resources: await tx.select().from(resources),
    prompts: await tx.select().from(prompts),
    compiled: await readCompiled(app, tx),
    allow_passthrough_sql: app.env.SVC_ALLOW_PASSTHROUGH_SQL,
    memo: app.configuration_cache.memo,
  }));
}

async function readTools(app: App, tx: Db): Promise<ToolRow[]> {
  const { tools: table } = app.store.tables;
  const { id, version, updated_at } = table;
  const heads = await readHeads(app, tx, table, sql`${id} || ' ' || ${version} || ' ' || ${updated_at}`);
  const kept = await refreshed(app.configuration_cache.tools, heads, (where) => tx.select().from(table).where(where?.(id)));
  app.configuration_cache.tools = kept;
  return [...kept.rows.values()].map(({ row }) => row);
}

async function readCompiled(app: App, tx: Db): Promise<Map<string, Compiled>> {
  const { compiled: table } = app.store.tables;
  const { entity_id, digest, artifact } = table;
  const heads = await readHeads(app, tx, table, sql`${entity_id} || ' ' || ${digest}`);
  const kept = await refreshed(app.configuration_cache.compiled, heads, (where) =>
    tx.select({ id: entity_id, artifact }).from(table).where(where?.(entity_id)),
  );
  app.configuration_cache.compiled = kept;
  return new Map([...kept.rows].map(([id, { row }]) => [id, row.artifact as Compiled]));
}

/** Of every row its id and what changes with it, a line each: one value, because the rows of an answer cost more than the reading. */
async function readHeads(app: App, tx: Db, table: Schema['tools'] | Schema['compiled'], head: SQL): Promise<string> {
  const join = sql.raw(app.store.dialect === 'sqlite' ? 'group_concat' : 'string_agg');
  const [found] = await tx.select({ heads: sql<string | null>`${join}(${head}, ${'\n'})` }).from(table);
  return found?.heads ?? '';
}

/** @param read reads the rows that a condition on their id names, or all of them. */
async function refreshed<R extends { readonly id: string }>(
  kept: Kept<R>,
  heads: string,
  read: (where?: (id: Column) => SQL) => Promise<R[]>,
): Promise<Kept<R>> {
  if (heads === kept.heads) return kept;
  const lines = heads === '' ? [] : heads.split('\n');
  const now = new Map(lines.map((head) => [head.slice(0, head.indexOf(' ')), head]));
  const rows = new Map([...kept.rows].filter(([id, { head }]) => now.get(id) === head));
  const missing = [...now.keys()].filter((id) => !rows.has(id));
  const few = missing.length <= 200 && missing.length * 2 <= now.size;
  for (const row of missing.length === 0 ? [] : await read(few ? (id) => inArray(id, missing) : undefined)) {
    const head = now.get(row.id);
    if (head !== undefined && !rows.has(row.id)) rows.set(row.id, { head, row });
  }
  return { heads, rows };
}
