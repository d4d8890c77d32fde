import { and, desc, eq } from 'drizzle-orm';
import type { Deleted, VariablesResult } from '#core/contract/agent-tools.ts';
import type { VariableDraft } from '#core/contract/config.ts';
import { AppError } from '#core/errors.ts';
import type { Context, Handlers } from '#core/run.ts';
import { canonical } from '#snapshots/canonical.ts';
import { configHandlers, readSettings } from './settings/config.ts';
import { connectionHandlers, connections } from './connections.ts';
import type { EntityType } from '#core/observe/history.ts';
import { toVariables } from './settings/settings.ts';
import { prompts, resources, tools } from './nouns.ts';
import { promptHandlers } from './prompts.ts';
import { resourceHandlers } from './resources.ts';
import { schemaHandlers } from './schema.ts';
import { toolHandlers } from './tools.ts';
import { transferHandlers } from '#core/transfer/transfer.ts';

const ATTEMPTS = 20;
const COMPACT = ['id', 'name', 'connection_name', 'tags'];

type AgentOnly = Exclude<Extract<keyof Handlers, `agent.${string}`>, 'agent.create_tools_batch'>;

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
  'agent.delete_connection': async (context, { connection_id, dry_run }) => {
    const row = await connections.get(context, connection_id);
    if (dry_run) return gone(context, 'connection', row, true, await ownedBy(context, row.id));
    await connectionHandlers['connections.delete'](context, { id: row.id });
    return gone(context, 'connection', row, false);
  },
  'agent.delete_tool': async (context, { tool_id, dry_run }) => {
    const row = await tools.get(context, tool_id);
    if (!dry_run) await toolHandlers['tools.delete'](context, { id: row.id });
    return gone(context, 'tool', row, dry_run);
  },
  'agent.delete_resource': async (context, { resource_id, dry_run }) => {
    const row = await resources.get(context, resource_id);
    if (!dry_run) await resourceHandlers['resources.delete'](context, { id: row.id });
    return gone(context, 'resource', row, dry_run);
  },
  'agent.delete_prompt': async (context, { prompt_id, dry_run }) => {
    const row = await prompts.get(context, prompt_id);
    if (!dry_run) await promptHandlers['prompts.delete'](context, { id: row.id });
    return gone(context, 'prompt', row, dry_run);
  },
  'agent.import_config': async (context, { data, dry_run }) =>
    transferHandlers['transfer.import'](context, { ...data, dry_run, mode: 'merge', include_server_config: false }),
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
const PLURAL: Readonly<Record<string, keyof Cascaded>> = { tool: 'tools', resource: 'resources', prompt: 'prompts' };

/** Names of what a connection owns. */
async function ownedBy({ app }: Context, connection_id: string): Promise<Cascaded> {
  const namesOf = async (plural: keyof Cascaded): Promise<string[]> => {
    const table = app.store.tables[plural] as typeof app.store.tables.tools;
    const rows = await app.store.db.select({ name: table.name }).from(table).where(eq(table.connection_id, connection_id));
    return rows.map(({ name }) => name).toSorted();
  };
  return { tools: await namesOf('tools'), resources: await namesOf('resources'), prompts: await namesOf('prompts') };
}

/** What a deletion answers; its newest history entry brings everything back. @param planned what a dry run found. */
async function gone(
  context: Context,
  entity_type: EntityType,
  { id, name }: { readonly id: string; readonly name: string },
  dry_run: boolean,
  planned: Cascaded = { tools: [], resources: [], prompts: [] },
): Promise<Deleted> {
  const entry = dry_run ? null : await newestEntry(context, entity_type, id);
  const cascaded = entry?.batch_id ? await wentWith(context, entry.batch_id) : planned;
  return {
    deleted: !dry_run,
    id,
    name,
    cascaded,
    total: 1 + cascaded.tools.length + cascaded.resources.length + cascaded.prompts.length,
    history_id: entry?.id ?? null,
    batch_id: entry?.batch_id ?? entry?.id ?? null,
  };
}

/** Names of what the history says went in this batch. */
async function wentWith({ app }: Context, batch_id: string): Promise<Cascaded> {
  const { history } = app.store.tables;
  const rows = await app.store.db
    .select({ entity_type: history.entity_type, name: history.entity_name })
    .from(history)
    .where(eq(history.batch_id, batch_id));
  const cascaded: Record<keyof Cascaded, string[]> = { tools: [], resources: [], prompts: [] };
  for (const { entity_type, name } of rows) {
    const plural = PLURAL[entity_type];
    if (plural !== undefined) cascaded[plural].push(name);
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
async function changeVariables(context: Context, dry_run: boolean, change: (stored: Drafts) => Drafts): Promise<VariablesResult> {
  for (let attempt = 1; ; attempt++) {
    const { settings, version } = await readSettings(context.app);
    const before = settings.global_variables;
    const drafts = change(before);
    if (Object.keys(drafts).length > 100) throw new AppError('invalid', 'At most 100 global variables are allowed.');
    const after = toVariables(drafts);
    const removed = Object.keys(before).filter((name) => !Object.hasOwn(after, name));
    const result = { variables: after, total: Object.keys(after).length, removed };
    if (dry_run || canonical(before) === canonical(after)) return { ...result, version, history_id: null };
    try {
      const stored = await configHandlers['config.update'](context, { version, global_variables: { ...drafts } });
      const entry = await newestEntry(context, 'server_config', 'server_config');
      return { ...result, version: stored.version, history_id: entry?.id ?? null };
    } catch (error) {
      const overtaken = error instanceof AppError && error.code === 'conflict';
      if (!overtaken || attempt === ATTEMPTS) throw error;
    }
  }
}
