import * as v from 'valibot';
import { ServerConfigPatch } from './settings/config.ts';
import { Variable, VariableName } from './settings/setting-values.ts';
import { type EntityKind, ENTITY_KINDS } from './entities.ts';
import { SnapshotChange } from './deploy/deploy.ts';
import { Empty, entityFilters, Id, integerBetween, listInput, listOf, Skip, textBetween, Version, Warnings } from './fields.ts';
import { FlowLayout } from './flow.ts';
import { Cascaded, HistoryEntry, historyFilters, OF_DEFINITIONS } from './history.ts';
import { operation } from './operation.ts';
import { Table, TableColumn } from './definitions/schema.ts';
import { Tool } from './definitions/tools.ts';
import { ToolsetMembers } from './definitions/toolsets.ts';
import { Import, importLists, ImportReport } from './transfer.ts';

/** Tools of the agent endpoint that have no equivalent operation in the REST API. */
const post = (tool: string) => `POST /agent-tools/${tool}` as const;
const DryRun = v.pipe(v.optional(v.boolean(), false), v.description('Only report what would happen'));

const page = {
  connection_id: Id,
  skip: Skip,
  limit: v.optional(integerBetween(1, 5_000), 200),
  schema: v.optional(textBetween(1, 255)),
  search: v.optional(textBetween(1, 255)),
};

const toolFields = Object.keys(Tool.entries).filter(
  (field) => !['findings', 'unchanged'].includes(field),
) as (keyof typeof Tool.entries)[];

/** Names of deleted records; in a dry run, of those that would be deleted. */
const Names = v.array(v.string());
const Deleted = v.object({
  deleted: v.boolean(),
  id: Id,
  name: v.string(),
  cascaded: v.pipe(Cascaded, v.description('Records that belonged to it and were deleted too, or would be on a dry run')),
  total: v.pipe(v.number(), v.description('Deleted records, including itself')),
  history_id: v.pipe(
    v.nullable(v.string()),
    v.description('Pass it to rollback to restore everything; null on a dry run or in a proposal'),
  ),
  batch_id: v.pipe(
    v.nullable(v.string()),
    v.description('Shared by all history entries of this deletion (a single entry: its history_id); rollback accepts it too'),
  ),
});
export type Deleted = v.InferOutput<typeof Deleted>;

const Variables = v.record(v.string(), Variable);
const VariablesResult = v.object({
  variables: Variables,
  total: v.number(),
  removed: v.pipe(Names, v.description('Deleted variables')),
  version: v.pipe(v.number(), v.description('Version of the server configuration')),
  history_id: v.pipe(
    v.nullable(v.string()),
    v.description('Pass it to rollback to undo this; null if nothing changed, or in a proposal'),
  ),
});
export type VariablesResult = v.InferOutput<typeof VariablesResult>;
/** A change between the live version and the working copy. Values are only included on request. */
const PendingChange = v.object({ ...SnapshotChange.entries, values: v.optional(SnapshotChange.entries.values) });
/** By default a summary of each entry, because a model reads everything that it receives; whole entries only on request. */
const historyPage = {
  skip: Skip,
  limit: v.optional(integerBetween(1, 100), 20),
  details: v.pipe(v.optional(v.boolean(), false), v.description('Return whole values and the record of each entry')),
};
const OfDefinitions = v.picklist(OF_DEFINITIONS);
const ShortEntry = v.object({ ...HistoryEntry.entries, snapshot: v.optional(HistoryEntry.entries.snapshot) });
export type ShortEntry = v.InferOutput<typeof ShortEntry>;
const ShortHistory = listOf(ShortEntry);
const VariableDrafts = ServerConfigPatch.entries.global_variables.wrapped;

const deletion = <K extends EntityKind>(kind: K) =>
  operation(post(`delete_${kind}`), 'write', {
    input: v.strictObject({ [`${kind}_id`]: Id, dry_run: DryRun } as Record<`${K}_id`, typeof Id> & { dry_run: typeof DryRun }),
    output: Deleted,
    agent: `delete_${kind}`,
    summary: `Delete a ${kind} and list what was deleted; the agents' form of DELETE`,
  });
const deletions = Object.fromEntries(ENTITY_KINDS.map((kind) => [`agent.delete_${kind}`, deletion(kind)])) as unknown as {
  [K in EntityKind as `agent.delete_${K}`]: ReturnType<typeof deletion<K>>;
};

export const agentTools = {
  'agent.list_tables': operation(post('list_tables'), 'read', {
    input: v.strictObject(page),
    output: v.object({ tables: v.array(Table), total: v.number() }),
    agent: 'list_tables',
    summary: 'List tables and views of a connected database',
  }),
  'agent.list_columns': operation(post('list_columns'), 'read', {
    input: v.strictObject({ ...page, table: textBetween(1, 512) }),
    output: v.object({ columns: v.array(TableColumn), total: v.number() }),
    agent: 'list_columns',
    summary: 'List the columns of a table',
  }),
  'agent.list_tools': operation(post('list_tools'), 'read', {
    input: v.strictObject({
      ...entityFilters,
      connection_id: v.optional(Id),
      tags: v.pipe(v.optional(textBetween(1, 2_000)), v.description('Comma-separated; matches any of them')),
      compact: v.pipe(v.optional(v.boolean(), false), v.description('Return only id, name, connection_name and tags')),
      fields: v.pipe(v.optional(v.array(v.picklist(toolFields))), v.description('Return only these fields, besides id and name')),
    }),
    output: v.object({ items: v.array(v.partial(Tool)), total: v.number() }),
    agent: 'list_tools',
    summary: 'List tools, with all or some fields',
  }),
  'agent.create_tools_batch': operation(post('create_tools_batch'), 'write', {
    input: v.strictObject({
      tools: v.pipe(
        v.array(v.record(v.string(), v.unknown())),
        v.minLength(1),
        v.maxLength(50),
        v.description('Each has the fields of create_tool'),
      ),
      atomic: v.pipe(v.optional(v.boolean(), false), v.description('true: create all of them, or none if any is invalid')),
    }),
    output: v.object({
      created: v.array(Tool),
      errors: v.array(v.object({ index: v.number(), name: v.nullable(v.string()), error: v.string() })),
      total_created: v.number(),
      total_errors: v.number(),
    }),
    agent: 'create_tools_batch',
    summary: 'Create up to 50 tools at once',
  }),
  'agent.list_toolset_members': operation(post('list_toolset_members'), 'read', {
    input: v.strictObject({ toolset_id: Id, ...listInput(500) }),
    output: ToolsetMembers,
    agent: 'list_toolset_members',
    summary: 'List what a toolset holds in the working copy, page by page',
  }),
  ...deletions,
  'agent.list_pending_changes': operation(post('list_pending_changes'), 'read', {
    input: v.strictObject({
      ...listInput(500),
      values: v.pipe(v.optional(v.boolean(), false), v.description('Return both values of each changed field')),
    }),
    output: v.object({
      from_version: v.nullable(v.number()),
      checksum: v.pipe(v.string(), v.description('Pass it to deploy_server to deploy exactly these changes')),
      items: v.array(PendingChange),
      total: v.number(),
      warnings: Warnings,
    }),
    agent: 'list_pending_changes',
    summary: 'List what the next deploy will change, page by page',
  }),
  'agent.list_history': operation(post('list_history'), 'read', {
    input: v.strictObject({ ...historyPage, ...historyFilters, entity_type: v.optional(OfDefinitions) }),
    output: ShortHistory,
    agent: 'list_history',
    summary: 'List changes, newest first, in short or in full',
  }),
  'agent.get_entity_history': operation(post('get_entity_history'), 'read', {
    input: v.strictObject({ ...historyPage, entity_type: OfDefinitions, entity_id: v.string() }),
    output: ShortHistory,
    agent: 'get_entity_history',
    summary: 'List changes of one record, newest first, in short or in full',
  }),
  'agent.get_flow_layout': operation(post('get_flow_layout'), 'read', {
    input: v.strictObject(listInput(500)),
    output: FlowLayout,
    agent: 'get_flow_layout',
    summary: 'Get what is configured and how it is connected, page by page',
  }),
  'agent.import_config': operation(post('import_config'), 'write', {
    input: v.strictObject({
      data: v.pipe(
        v.strictObject({
          format: Import.entries.format,
          exported_at: Import.entries.exported_at,
          server_config: Import.entries.server_config,
          ...importLists,
        }),
        v.description('The output of export_config; its server_config is ignored'),
      ),
      dry_run: DryRun,
    }),
    output: ImportReport,
    agent: 'import_config',
    summary: 'Add the contents of an export; existing names are left unchanged',
    max_body: 16 * 1024 * 1024,
  }),
  'agent.get_global_variables': operation(post('get_global_variables'), 'read', {
    input: Empty,
    output: v.object({ variables: Variables, total: v.number(), version: v.number() }),
    agent: 'get_global_variables',
    summary: 'List the global variables of templates',
  }),
  'agent.set_global_variables': operation(post('set_global_variables'), 'write', {
    role: 'admin',
    input: v.strictObject({ version: v.optional(Version), variables: VariableDrafts, dry_run: DryRun }),
    output: VariablesResult,
    noted: 'server_config',
    agent: 'set_global_variables',
    summary: 'Replace all global variables',
  }),
  'agent.update_global_variables': operation(post('update_global_variables'), 'write', {
    role: 'admin',
    input: v.strictObject({
      version: v.optional(Version),
      set: v.optional(VariableDrafts, {}),
      delete: v.optional(v.pipe(v.array(VariableName), v.maxLength(100)), []),
      dry_run: DryRun,
    }),
    output: VariablesResult,
    noted: 'server_config',
    agent: 'update_global_variables',
    summary: 'Add, change or delete individual global variables, all or nothing',
  }),
};
