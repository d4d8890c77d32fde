import { and, desc, eq, gte } from 'drizzle-orm';
import { ENTITY_KINDS } from '#core/contract/entities.ts';
import { type OperationName, operations } from '#core/contract/index.ts';
import type { Operation } from '#core/contract/operation.ts';
import { type AppError, CONTROLS } from '#core/errors.ts';
import { entityTable } from '#core/store/entity-table.ts';
import type { Store } from '#core/store/store.ts';
import type { Schema } from '#core/store/schema.ts';
import type { Context } from '#core/context/context.ts';
import { CONFIG_ID } from '#core/contract/settings/config.ts';
import { readSettings } from '#core/settings/settings.ts';
import type { EntityType } from '#core/contract/history.ts';
import { recordHistory } from './history.ts';
import { emitEvent } from './events.ts';

type Writing = {
  [N in OperationName]: (typeof operations)[N]['method'] extends 'GET' ? never : N;
}[OperationName];
type NounOf<N> = N extends `${infer Noun}.${string}` ? Noun : never;

/**
 * The entity type under which history records that a control refused a write, by the noun of the operation. Null: no control
 * refuses it, it stores nothing, or it records refusals itself. Operations of agents cover several nouns, so they declare it
 * (`noted`).
 */
const NOTED: Readonly<Record<Exclude<NounOf<Writing>, 'agent'>, EntityType | null>> = {
  agent_tokens: null,
  audit: null,
  auth: null,
  calls: null,
  candidates: 'snapshot',
  config: CONFIG_ID,
  confirmations: null,
  connections: 'connection',
  definitions: null,
  deploy: 'snapshot',
  drift: null,
  files: 'file',
  grants: null,
  guard: null,
  history: null,
  identity_providers: 'identity_provider',
  insights: null,
  mcp_tokens: null,
  notices: 'notice',
  oauth_apps: 'oauth_app',
  oauth_clients: null,
  oauth_requests: null,
  people: null,
  preview: null,
  prompts: 'prompt',
  proposals: null,
  replay: null,
  resources: 'resource',
  signing_keys: null,
  snapshots: 'snapshot',
  ssl: null,
  tests: 'test',
  tools: 'tool',
  toolsets: 'toolset',
  transfer: null,
  two_factor: null,
};

const REPEATS_MS = 60_000;

/** The entity type under which history records that a control refused an operation; null when it is not recorded. */
export function notedAs(name: OperationName): EntityType | null {
  const of_nouns: Readonly<Record<string, EntityType | null>> = NOTED;
  const { noted }: Operation = operations[name];
  return noted ?? of_nouns[name.split('.')[0] ?? ''] ?? null;
}

/**
 * Records that a control refused a write: the name of the record, the fields and the rules, never the text. Equal refusals of the
 * same caller within a minute are counted in one entry. @param entity_type null: nothing is recorded.
 */
export async function recordBlocked(
  context: Context,
  entity_type: EntityType | null,
  input: Readonly<Record<string, unknown>>,
  refusal: AppError,
): Promise<void> {
  if (!CONTROLS.includes(refusal.code) || entity_type === null || input['dry_run'] === true) return;
  const { app, actor } = context;
  const { history } = app.store.tables;
  const { entity_id, entity_name } = await entityOf(context, entity_type, input);
  const what = { code: refusal.code, fields: refusal.errors.map(({ field }) => field), rules: refusal.reason?.split(', ') ?? [] };
  await app.store.write(async (tx) => {
    const since = new Date(app.clock().getTime() - REPEATS_MS).toISOString();
    const recent = await tx
      .select()
      .from(history)
      .where(and(eq(history.action, 'blocked'), eq(history.entity_name, entity_name), gte(history.created_at, since)))
      .orderBy(desc(history.id))
      .limit(20);
    const same = recent.find((row) => {
      const { count: _, ...stored } = row.after ?? {};
      return (
        row.entity_type === entity_type && row.actor.id === (actor?.id ?? null) && JSON.stringify(stored) === JSON.stringify(what)
      );
    });
    if (same === undefined) {
      const after = { ...what, count: 1 };
      await recordHistory(tx, context, { entity_type, entity_id, entity_name, action: 'blocked', before: null, after });
      const by = actor?.name ?? 'system';
      await emitEvent(app, 'guard_hit', { ...what, entity_type, entity_name, by }, tx, actor);
      return;
    }
    const after = { ...what, count: Number(same.after?.['count'] ?? 1) + 1 };
    await tx.update(history).set({ after }).where(eq(history.id, same.id));
  });
}

/** The record that an input is about. An input with only an id gets the stored name. */
async function entityOf(
  { app }: Context,
  entity_type: EntityType,
  { id, name, version, candidate }: Readonly<Record<string, unknown>>,
): Promise<{ entity_id: string; entity_name: string }> {
  const shortened = (text: unknown) => (typeof text === 'string' ? text.slice(0, 64) : '');
  if (entity_type === CONFIG_ID) return { entity_id: CONFIG_ID, entity_name: (await readSettings(app)).settings.server_name };
  if (entity_type === 'snapshot') {
    if (typeof version === 'number') return { entity_id: String(version), entity_name: `v${version}` };
    return typeof candidate === 'string'
      ? { entity_id: candidate, entity_name: `candidate ${candidate}` }
      : { entity_id: '', entity_name: 'working copy' };
  }
  if (typeof id !== 'string') return { entity_id: '', entity_name: shortened(name) };
  const table = tableOf(app.store, entity_type);
  if (table === null) return { entity_id: id, entity_name: shortened(name) };
  const [stored] = await app.store.db.select({ name: table.name }).from(table).where(eq(table.id, id)).limit(1);
  return { entity_id: id, entity_name: shortened(stored?.name ?? name) };
}

/** The table with the names of an entity type. */
function tableOf(store: Store, entity_type: EntityType): Schema['tools'] | null {
  const kind = ENTITY_KINDS.find((known) => known === entity_type);
  if (kind !== undefined) return entityTable(store, kind);
  const { notices, identity_providers, oauth_apps } = store.tables;
  const others: Partial<Record<EntityType, unknown>> = {
    notice: notices,
    identity_provider: identity_providers,
    oauth_app: oauth_apps,
  };
  return (others[entity_type] as Schema['tools'] | undefined) ?? null;
}
