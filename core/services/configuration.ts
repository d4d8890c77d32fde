import { inArray } from 'drizzle-orm';
import type { App } from '#core/app.ts';
import type { Schema } from '#core/db/schema.ts';
import type { Db } from '#core/db/open.ts';
import type { Compiled } from '#snapshots/compile.ts';
import { type Configuration, createFreezeMemo, type FreezeMemo } from '#snapshots/freeze.ts';
import { readServerConfig } from './config.ts';
import type { ConnectionRow } from './source-pool.ts';

type ToolRow = Schema['tools']['$inferSelect'];
type ResourceRow = Schema['resources']['$inferSelect'];

/** A configuration as it is stored: whole rows. */
export interface StoredConfiguration extends Configuration {
  readonly connections: readonly ConnectionRow[];
  readonly tools: readonly ToolRow[];
  readonly resources: readonly ResourceRow[];
}

/**
 * Rows and artifacts read before, by id: a row of the same version and an artifact of the same digest are not read again. The
 * maps are replaced as a whole and never changed, so that two reads at once cannot mix.
 */
export interface ConfigurationCache {
  tools: ReadonlyMap<string, ToolRow>;
  compiled: ReadonlyMap<string, StoredArtifact>;
  readonly memo: FreezeMemo;
}

interface StoredArtifact {
  readonly digest: string;
  readonly artifact: Compiled;
}

export const createConfigurationCache = (): ConfigurationCache => ({
  tools: new Map(),
  compiled: new Map(),
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
  const cache = app.configuration_cache;
  const heads = await tx.select({ id: table.id, version: table.version, updated_at: table.updated_at }).from(table);
  const kept = new Map<string, ToolRow>();
  for (const { id, version, updated_at } of heads) {
    const row = cache.tools.get(id);
    if (row?.version === version && row.updated_at === updated_at) kept.set(id, row);
  }
  const missing = heads.filter(({ id }) => !kept.has(id)).map(({ id }) => id);
  if (missing.length > 0) {
    const rows = await tx
      .select()
      .from(table)
      .where(few(missing, heads.length) ? inArray(table.id, missing) : undefined);
    for (const row of rows) if (!kept.has(row.id)) kept.set(row.id, row);
  }
  cache.tools = kept;
  return [...kept.values()];
}

async function readCompiled(app: App, tx: Db): Promise<Map<string, Compiled>> {
  const { compiled: table } = app.store.tables;
  const cache = app.configuration_cache;
  const heads = await tx.select({ id: table.entity_id, digest: table.digest }).from(table);
  const kept = new Map<string, StoredArtifact>();
  for (const { id, digest } of heads) {
    const known = cache.compiled.get(id);
    if (known?.digest === digest) kept.set(id, known);
  }
  const missing = heads.filter(({ id }) => !kept.has(id)).map(({ id }) => id);
  if (missing.length > 0) {
    const rows = await tx
      .select()
      .from(table)
      .where(few(missing, heads.length) ? inArray(table.entity_id, missing) : undefined);
    for (const { entity_id, digest, artifact } of rows) {
      if (!kept.has(entity_id)) kept.set(entity_id, { digest, artifact: artifact as Compiled });
    }
  }
  cache.compiled = kept;
  return new Map([...kept].map(([id, { artifact }]) => [id, artifact]));
}

/** So few that they are read by id; otherwise all of them are. */
const few = (ids: readonly string[], total: number): boolean => ids.length <= 200 && ids.length * 2 <= total;
