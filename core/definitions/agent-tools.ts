import { and, desc, eq } from 'drizzle-orm';
import type { Deleted, VariablesResult } from '#core/contract/agent-tools.ts';
import { byPlural, ENTITIES, ENTITY_KINDS, type EntityKind, isOwned, OWNED_KINDS } from '#core/contract/entities.ts';
import type { VariableDraft } from '#core/contract/settings/setting-values.ts';
import { AppError } from '#core/errors.ts';
import type { Context, Handlers } from '#core/run.ts';
import { canonical } from '#snapshots/canonical.ts';
import { configHandlers, readSettings } from './settings/config.ts';
import { KIND_OF } from './kinds.ts';
import { ownedBy } from './owners.ts';
import { retryOnConflict } from './records.ts';
import type { EntityType } from '#core/observe/history.ts';
import { toVariables } from './settings/settings.ts';
import { schemaHandlers } from './schema.ts';
import { toolHandlers } from './tools.ts';
import { transferHandlers } from '#core/transfer/transfer.ts';
import { NOTHING_DELETED } from '#core/transfer/transfer-deletes.ts';

const COMPACT = ['id', 'name', 'connection_name', 'tags'];

type AgentOnly = Exclude<Extract<keyof Handlers, `agent.${string}`>, 'agent.create_tools_batch'>;

/** Deletes one record of a noun and says what went with it. */
async function deleteOne(context: Context, kind: EntityKind, id: string, dry_run: boolean): Promise<Deleted> {
  const { noun, delete: remove } = KIND_OF[kind];
  const row = await noun.get(context, id);
  if (dry_run) return deletionResult(context, kind, row, true, isOwned(kind) ? nothing() : await namesOfOwned(context, row.id));
  await remove(context, row.id);
  return deletionResult(context, kind, row, false);
}

const deletions = Object.fromEntries(
  ENTITY_KINDS.map((kind) => [
    `agent.delete_${kind}`,
    (context: Context, input: Readonly<Record<string, unknown>>) =>
      deleteOne(context, kind, String(input[`${kind}_id`]), input['dry_run'] === true),
  ]),
) as unknown as Pick<Handlers, `agent.delete_${EntityKind}`>;

export const agentToolHandlers: Pick<Handlers, AgentOnly> = {
  'agent.list_tables': async (context, input) => {
    const { items, total } = await schemaHandlers['schema.tables'](context, input);
    return { tables: items, total };
  },
  'agent.list_columns': async (context, input) => {
    const { items, total } = await schemaHandlers['schema.columns'](context, input);
    return { columns: items, total };
  },
  'agent.list_tools': async (context, { compact, fields, ...filter }) => {
    const { items, total } = await toolHandlers['tools.list'](context, filter);
    const shown = fields === undefined ? (compact ? COMPACT : null) : ['id', 'name', ...fields];
    if (shown === null) return { items, total };
    const part = (item: object) => Object.fromEntries(Object.entries(item).filter(([field]) => shown.includes(field)));
    return { items: items.map(part), total };
  },
  ...deletions,
  'agent.import_config': async (context, { data, dry_run }) =>
    transferHandlers['transfer.import'](context, {
      ...data,
      deletes: NOTHING_DELETED,
      dry_run,
      check: dry_run,
      mode: 'merge',
      include_server_config: false,
    }),
  'agent.get_global_variables': async ({ app }) => {
    const { settings, version } = await readSettings(app);
    const variables = settings.global_variables;
    return { variables, total: Object.keys(variables).length, version };
  },
  'agent.set_global_variables': async (context, { variables, dry_run }) => changeVariables(context, dry_run, () => variables),
  'agent.update_global_variables': async (context, { set, delete: names, dry_run }) =>
    changeVariables(context, dry_run, (stored) => {
      const missing = names.filter((name) => !Object.hasOwn(stored, name));
      if (missing.length > 0) throw new AppError('not_found', `There is no global variable ${missing.join(', ')}.`);
      const kept = Object.entries(stored).filter(([name]) => !names.includes(name));
      return { ...Object.fromEntries(kept), ...set };
    }),
};

type Cascaded = Deleted['cascaded'];
const nothing = (): Cascaded => byPlural(OWNED_KINDS, () => []);

/** Names of what a connection owns. */
async function namesOfOwned(context: Context, connection_id: string): Promise<Cascaded> {
  const cascaded = nothing();
  for (const kind of OWNED_KINDS) {
    const rows = await ownedBy(context, context.app.store.db, kind, connection_id);
    cascaded[ENTITIES[kind].plural] = rows.map(({ name }) => name).toSorted();
  }
  return cascaded;
}

/** What a deletion answers; its newest history entry brings everything back. @param planned what a dry run found. */
async function deletionResult(
  context: Context,
  entity_type: EntityType,
  { id, name }: { readonly id: string; readonly name: string },
  dry_run: boolean,
  planned: Cascaded = nothing(),
): Promise<Deleted> {
  const entry = dry_run ? null : await newestEntry(context, entity_type, id);
  const cascaded = entry?.batch_id ? await wentWith(context, entry.batch_id) : planned;
  const kept = context.replay === undefined ? entry : null;
  return {
    deleted: !dry_run,
    id,
    name,
    cascaded,
    total: 1 + Object.values(cascaded).flat().length,
    history_id: kept?.id ?? null,
    batch_id: kept?.batch_id ?? kept?.id ?? null,
  };
}

/** Names of what the history says went in this batch. */
async function wentWith({ app }: Context, batch_id: string): Promise<Cascaded> {
  const { history } = app.store.tables;
  const rows = await app.store.db
    .select({ entity_type: history.entity_type, name: history.entity_name })
    .from(history)
    .where(eq(history.batch_id, batch_id));
  const cascaded = nothing();
  for (const { entity_type, name } of rows) {
    const kind = OWNED_KINDS.find((owned) => owned === entity_type);
    if (kind !== undefined) cascaded[ENTITIES[kind].plural].push(name);
  }
  for (const names of Object.values(cascaded)) names.sort();
  return cascaded;
}

async function newestEntry({ app }: Context, entity_type: EntityType, entity_id: string) {
  const { history } = app.store.tables;
  const [entry] = await app.store.db
    .select({ id: history.id, batch_id: history.batch_id })
    .from(history)
    .where(and(eq(history.entity_type, entity_type), eq(history.entity_id, entity_id)))
    .orderBy(desc(history.id))
    .limit(1);
  return entry ?? null;
}

type Drafts = Readonly<Record<string, VariableDraft>>;

/** Reads, changes and writes as one: a change in between makes it begin again. */
const changeVariables = (context: Context, dry_run: boolean, change: (stored: Drafts) => Drafts): Promise<VariablesResult> =>
  retryOnConflict(undefined, async () => {
    const { settings, version } = await readSettings(context.app);
    const before = settings.global_variables;
    const drafts = change(before);
    if (Object.keys(drafts).length > 100) throw new AppError('invalid', 'At most 100 global variables are allowed.');
    const after = toVariables(drafts);
    const removed = Object.keys(before).filter((name) => !Object.hasOwn(after, name));
    const result = { variables: after, total: Object.keys(after).length, removed };
    if (dry_run || canonical(before) === canonical(after)) return { ...result, version, history_id: null };
    const stored = await configHandlers['config.update'](context, { version, global_variables: { ...drafts } });
    const entry = context.replay === undefined ? await newestEntry(context, 'server_config', 'server_config') : null;
    return { ...result, version: stored.version, history_id: entry?.id ?? null };
  });
