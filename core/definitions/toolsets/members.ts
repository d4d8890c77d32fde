import { eq, inArray } from 'drizzle-orm';
import { ENTITIES, type EntityKind } from '#core/contract/entities.ts';
import type { Selection, ToolsetMembers } from '#core/contract/definitions/toolsets.ts';
import { estimateTokens } from '#core/lib/tokens.ts';
import type { Context } from '#core/context/context.ts';
import { entityTable } from '#core/store/entity-table.ts';
import { freezePrompt, resourceListing, toolListing } from '#snapshots/freeze/entities.ts';
import {
  heldByAny,
  type Holds,
  holdsOf,
  type Selectable,
  type SelectionRule,
  toolsetsOfPerson,
} from '#snapshots/format/toolsets.ts';
import { readCompiled } from '#core/sources/statements.ts';
import { pagesOf } from '#core/lib/slices.ts';

type Member = ToolsetMembers['members'][number];
/** A stored definition that is served, with its entry in the list that models read. */
interface Served extends Omit<Member, 'tokens' | 'connection_name'> {
  readonly connection_id: string | null;
  readonly tags: readonly string[];
  readonly listing: () => object;
}

const IDS_PER_STATEMENT = 500;

/** The members of a toolset in the working copy. */
export const membersOf = (context: Context, rule: SelectionRule): Promise<ToolsetMembers> => membersIn(context, holdsOf(rule));

/**
 * The definitions that a caller sees in the working copy. @param named toolsets of the caller. Null: all. Undefined: those of its
 * groups.
 */
export async function visibleTo(
  context: Context,
  named: readonly string[] | null | undefined,
  groups: readonly string[],
): Promise<ToolsetMembers & { toolsets: string[] | null }> {
  const { toolsets } = context.app.store.tables;
  const enabled = await context.app.store.db.select().from(toolsets).where(eq(toolsets.enabled, true)).orderBy(toolsets.name);
  const chosen =
    named === undefined ? toolsetsOfPerson(enabled, groups) : named && enabled.filter(({ name }) => named.includes(name));
  return { toolsets: chosen && chosen.map(({ name }) => name), ...(await membersIn(context, heldByAny(chosen))) };
}

/** Members among the enabled definitions of enabled connections. */
async function membersIn(context: Context, holds: Holds): Promise<ToolsetMembers> {
  const { app } = context;
  const { connections } = app.store.tables;
  const rows = await app.store.db
    .select({ id: connections.id, name: connections.name })
    .from(connections)
    .where(eq(connections.enabled, true));
  const names = new Map(rows.map(({ id, name }) => [id, name]));
  const isServed = (one: Served) => (one.connection_id === null || names.has(one.connection_id)) && holds(toSelectable(one));
  const served = [
    ...(await servedTools(context, isServed)),
    ...(await servedResources(context)).filter(isServed),
    ...(await servedPrompts(context)).filter(isServed),
  ];
  const members = served.map(({ kind, id, name, title, read_only, connection_id, listing }) => ({
    kind,
    id,
    name,
    title,
    connection_name: connection_id === null ? null : (names.get(connection_id) ?? null),
    read_only,
    tokens: estimateTokens(JSON.stringify(listing())),
  }));
  return { members, total: members.length, tokens: members.reduce((sum, { tokens }) => sum + tokens, 0) };
}

const toSelectable = ({ kind, id, connection_id, tags, read_only }: Served): Selectable => ({
  kind,
  id,
  connection_id,
  tags,
  reads: read_only,
});

/** Reads the schemas of the matching tools only. */
async function servedTools(context: Context, matches: (one: Served) => boolean): Promise<Served[]> {
  const { tools } = context.app.store.tables;
  const { id, name, title, description, connection_id, tags, read_only, annotations, page_by, files } = tools;
  const columns = { id, name, title, description, connection_id, tags, read_only, annotations, page_by, files };
  const rows = await context.app.store.db.select(columns).from(tools).where(eq(tools.enabled, true)).orderBy(tools.name);
  const selected = rows.filter((row) => matches({ kind: 'tool', ...row, listing: () => row }));
  const found: Served[] = [];
  for (const page of pagesOf(selected, IDS_PER_STATEMENT)) {
    const compiled = await readCompiled(
      context.app,
      page.map((row) => row.id),
    );
    for (const row of page) {
      const schemas = compiled.get(row.id) ?? { input_schema: {}, output_schema: null };
      found.push({ kind: 'tool', ...row, listing: () => toolListing(row, schemas) });
    }
  }
  return found;
}

async function servedResources({ app }: Context): Promise<Served[]> {
  const { resources } = app.store.tables;
  const rows = await app.store.db.select().from(resources).where(eq(resources.enabled, true)).orderBy(resources.name);
  return rows.map((row) => ({ kind: 'resource', ...row, read_only: true, listing: () => resourceListing(row) }));
}

async function servedPrompts({ app }: Context): Promise<Served[]> {
  const { prompts } = app.store.tables;
  const rows = await app.store.db.select().from(prompts).where(eq(prompts.enabled, true)).orderBy(prompts.name);
  return rows.map((row) => ({ kind: 'prompt', ...row, read_only: true, listing: () => freezePrompt(row).listing }));
}

const ID_LISTS = {
  connection_ids: 'connection',
  tool_ids: 'tool',
  resource_ids: 'resource',
  prompt_ids: 'prompt',
} as const satisfies Partial<Record<keyof Selection, EntityKind>>;
type IdList = keyof typeof ID_LISTS;

/** Ids of a selection without a record. Records that the same batch is about to store count as stored. */
export async function missingIds({ app, batch }: Context, selection: Selection): Promise<{ list: IdList; id: string }[]> {
  const missing: { list: IdList; id: string }[] = [];
  for (const [list, kind] of Object.entries(ID_LISTS) as [IdList, EntityKind][]) {
    const ids = selection[list].filter((id) => batch?.cache.planned?.has(id) !== true);
    const table = entityTable(app.store, kind);
    const there = new Set<string>();
    for (const page of pagesOf(ids, IDS_PER_STATEMENT)) {
      const rows = await app.store.db.select({ id: table.id }).from(table).where(inArray(table.id, page));
      for (const { id } of rows) there.add(id);
    }
    missing.push(...ids.filter((id) => !there.has(id)).map((id) => ({ list, id })));
  }
  return missing;
}

/** The list of names that replaces each list of ids in exports: the plural of its kind. */
export const selectionLists = Object.fromEntries(
  Object.entries(ID_LISTS).map(([list, kind]) => [list, ENTITIES[kind].plural]),
) as { readonly [L in IdList]: (typeof ENTITIES)[(typeof ID_LISTS)[L]]['plural'] };
