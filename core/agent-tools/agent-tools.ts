import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithProviders } from '#core/identity/providers/metadata.ts';
import type { WithSnapshots } from '#core/versions/stored-snapshots.ts';
import { and, desc, eq } from 'drizzle-orm';
import type { Deleted, VariablesResult } from '#core/contract/agent-tools.ts';
import { byPlural, ENTITIES, ENTITY_KINDS, type EntityKind, FROZEN_KINDS, OWNED_KINDS } from '#core/contract/entities.ts';
import type { Output } from '#core/contract/index.ts';
import type { VariableDraft } from '#core/contract/settings/setting-values.ts';
import { deployHandlers } from '#core/deploy/deploy-handlers.ts';
import { AppError } from '#core/errors.ts';
import type { Context, Handlers } from '#core/context/context.ts';
import { canonical } from '#snapshots/format/canonical.ts';
import { writeAll } from '#core/records/batch.ts';
import { checkUpdate, configHandlers } from '#core/server-config/server-config.ts';
import { readSettings, toVariables } from '#core/settings/settings.ts';
import { type AgentToolsApp, type Entities, flowHandlers } from './flow.ts';
import { ENTITY_SERVICES } from '#core/definitions/entity-services.ts';
import { checkVersion, retryOnConflict } from '#core/records/versioned.ts';
import { deletedBeside } from '#core/records/history.ts';
import type { EntityType } from '#core/contract/history.ts';
import { shortEntry } from '#core/records/history-entry.ts';
import { historyHandlers } from '#core/history/history-handlers.ts';
import { schemaHandlers } from '#core/definitions/schema.ts';
import { toolHandlers } from '#core/definitions/tools.ts';
import { toolsetHandlers } from '#core/definitions/toolsets/toolsets.ts';
import { transferHandlers } from '#core/transfer/transfer.ts';
import { NOTHING_DELETED } from '#core/transfer/transfer-deletes.ts';

const COMPACT = ['id', 'name', 'connection_name', 'tags'];

type AgentOnly = Exclude<Extract<keyof Handlers, `agent.${string}`>, 'agent.create_tools_batch'>;

/** Deletes one record. @returns the records that were deleted with it. A dry run is rolled back. */
async function deleteOne(context: Context, kind: EntityKind, id: string, dry_run: boolean): Promise<Deleted> {
  const deleted = await writeAll(context, dry_run, async (inside, tx) => {
    const row = await ENTITY_SERVICES[kind].noun.get(inside, id, tx);
    await ENTITY_SERVICES[kind].removeAll(inside, tx, [row.id]);
    return deletionResult(inside, kind, row, dry_run);
  });
  if (!dry_run) context.app.sources.drop(deleted.id);
  return deleted;
}

const deletions = Object.fromEntries(
  ENTITY_KINDS.map((kind) => [
    `agent.delete_${kind}`,
    (context: Context, input: Readonly<Record<string, unknown>>) =>
      deleteOne(context, kind, String(input[`${kind}_id`]), input['dry_run'] === true),
  ]),
) as unknown as Pick<Handlers, `agent.delete_${EntityKind}`>;

export const agentToolHandlers: Pick<Handlers<AgentToolsApp>, AgentOnly> = {
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
  'agent.list_toolset_members': async (context, { toolset_id, skip, limit }) => {
    const { members, ...sums } = await toolsetHandlers['toolsets.members'](context, { id: toolset_id });
    return { members: members.slice(skip, skip + limit), ...sums };
  },
  ...deletions,
  'agent.list_pending_changes': async (context, { skip, limit, values: with_values }) => {
    const { from_version, checksum, changes, warnings } = await deployHandlers['deploy.diff'](context, { values: true });
    const items = changes
      .slice(skip, skip + limit)
      .map(({ values, ...change }) => (with_values ? { ...change, values } : change));
    return { from_version, checksum, items, total: changes.length, warnings };
  },
  'agent.list_history': async (context, { details, ...filter }) =>
    inShort(context, await historyHandlers['history.list'](context, filter), details),
  'agent.get_entity_history': async (context, { details, ...filter }) =>
    inShort(context, await historyHandlers['history.entity'](context, filter), details),
  'agent.get_flow_layout': async (context, { skip, limit }) => {
    const layout = await flowHandlers['flow.layout'](context, {});
    const lists = byPlural(FROZEN_KINDS, (kind) => layout[ENTITIES[kind].plural].slice(skip, skip + limit)) as Entities;
    const listed = new Set(OWNED_KINDS.flatMap((kind) => lists[ENTITIES[kind].plural].map(({ id }) => id)));
    const edges = layout.edges.filter(({ from, to, kind }) => listed.has(kind === 'owns' ? to : from));
    return { ...layout, ...lists, edges };
  },
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
  'agent.set_global_variables': async (context, { variables, ...how }) => changeVariables(context, how, () => variables),
  'agent.update_global_variables': async (context, { set, delete: names, ...how }) =>
    changeVariables(context, how, (stored) => {
      const missing = names.filter((name) => !Object.hasOwn(stored, name));
      if (missing.length > 0) throw new AppError('not_found', `There is no global variable ${missing.join(', ')}.`);
      const remaining = Object.entries(stored).filter(([name]) => !names.includes(name));
      return { ...Object.fromEntries(remaining), ...set };
    }),
};

/** The answer of a deletion, read in its transaction. A rollback to its newest history entry restores everything. */
async function deletionResult(
  context: Context,
  entity_type: EntityType,
  { id, name }: { readonly id: string; readonly name: string },
  dry_run: boolean,
): Promise<Deleted> {
  const entry = await newestEntry(context, entity_type, id);
  const cascaded = await deletedBeside(context, entry?.batch_id ?? null, new Set([id]));
  const stored = dry_run || context.proposal_run !== undefined ? null : entry;
  return {
    deleted: !dry_run,
    id,
    name,
    cascaded,
    total: 1 + Object.values(cascaded).flat().length,
    history_id: stored?.id ?? null,
    batch_id: stored?.batch_id ?? stored?.id ?? null,
  };
}

const inShort = ({ actor }: Context, { items, total }: Output<'history.list'>, details: boolean) => ({
  items: details ? items : items.map((entry) => shortEntry(actor, entry)),
  total,
});

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

/** Reads, changes and writes the variables. Starts again when another request changed them in between. */
const changeVariables = (
  context: Context<WithSources & WithProviders & WithSnapshots>,
  { version: expected, dry_run }: { readonly version?: number | undefined; readonly dry_run: boolean },
  change: (stored: Drafts) => Drafts,
): Promise<VariablesResult> =>
  retryOnConflict(expected, async () => {
    const read = await readSettings(context.app);
    checkVersion('server_config', read, expected);
    const { settings, version } = read;
    const before = settings.global_variables;
    const drafts = change(before);
    if (Object.keys(drafts).length > 100) throw new AppError('invalid', 'At most 100 global variables are allowed.');
    const after = toVariables(drafts);
    const removed = Object.keys(before).filter((name) => !Object.hasOwn(after, name));
    const result = { variables: after, total: Object.keys(after).length, removed };
    const unchanged = canonical(before) === canonical(after);
    const patch = { global_variables: { ...drafts } };
    if (dry_run && !unchanged) await checkUpdate(context, version, patch);
    if (dry_run || unchanged) return { ...result, version, history_id: null };
    const stored = await configHandlers['config.update'](context, { version, ...patch });
    const entry = context.proposal_run === undefined ? await newestEntry(context, 'server_config', 'server_config') : null;
    return { ...result, version: stored.version, history_id: entry?.id ?? null };
  });
