import { and, eq, like } from 'drizzle-orm';
import type { Tool, ToolDraft } from '#core/contract/tools.ts';
import type { Schema } from '#core/store/schema.ts';
import { AppError, invalidField } from '#core/errors.ts';
import type { Context, Handlers } from '#core/run.ts';
import { refuse } from '#snapshots/entities.ts';
import { connectionNames, ownerOf } from './connections.ts';
import { anyTag, checkVersion, overtaking, toDraft, touches } from './records.ts';
import { guardDraft } from './guard/guard.ts';
import { tools } from './nouns.ts';
import { atField, type Described, prepareDefinition, readCompiled, storeCompiled } from './statements.ts';

type ToolRow = Schema['tools']['$inferSelect'];

export const toolHandlers: Pick<Handlers, Extract<keyof Handlers, `tools.${string}`>> = {
  'tools.list': async (context, { connection_id, tags, ...filter }) => {
    const { tools: table } = context.app.store.tables;
    const where = and(connection_id === undefined ? undefined : eq(table.connection_id, connection_id), anyTag(table, tags));
    const { items, total } = await tools.list(context, filter, where);
    return { items: await toTools(context, items), total };
  },
  'tools.get': async (context, { id }) => toTool(context, await tools.get(context, id)),
  'tools.create': async (context, draft) => createTool(context, draft, null),
  'tools.update': (context, { id, version, ...patch }) =>
    overtaking(version, async () => {
      const before = await tools.get(context, id);
      checkVersion('tool', before, version);
      const sent = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined));
      // A changed statement is judged anew unless the caller says what it is.
      const judged =
        patch.read_only === undefined && patch.sql_query !== undefined && patch.sql_query !== before.sql_query
          ? { read_only: null }
          : {};
      const { values, compiled } = await prepareToolChange(context, { ...toDraft(before), ...sent, ...judged }, before);
      const row = await context.app.store.write(async (tx) => {
        await ownerOf(context, values.connection_id, tx);
        const updated = await tools.update(context, tx, id, version ?? before.version, values);
        if (compiled !== null) await storeCompiled(context.app, tx, id, compiled);
        return updated;
      });
      return toTool(context, row);
    }),
  'tools.delete': async (context, { id }) => {
    await context.app.store.write((tx) => tools.remove(context, tx, id));
    return {};
  },
  'tools.duplicate': async (context, { id }) => {
    const original = await tools.get(context, id);
    return createTool(context, { ...toDraft(original), name: await copyName(context, original.name) }, original);
  },
};

async function createTool(context: Context, draft: ToolDraft, original: ToolRow | null): Promise<Tool> {
  const { values, compiled } = await prepareTool(context, draft, guardDraft, original);
  const row = await context.app.store.write(async (tx) => {
    await ownerOf(context, values.connection_id, tx);
    const created = await tools.insert(context, tx, values);
    await storeCompiled(context.app, tx, created.id, compiled);
    return created;
  });
  return toTool(context, row);
}

/** Everything that must hold before a tool is stored; nothing is stored here. @param earlier what is changed or copied. */
export async function prepareTool(
  context: Context,
  draft: ToolDraft,
  judge: typeof guardDraft = guardDraft,
  earlier: Described | null = null,
) {
  const connection = await ownerOf(context, draft.connection_id);
  await judge(context, 'tool', draft);
  const compiled = await prepareDefinition(context.app, connection, draft, earlier);
  const { classification } = compiled;
  const read_only = draft.read_only ?? classification.read_only;
  if (draft.read_only === true && !classification.read_only && classification.command !== '') {
    throw invalidField(
      'read_only',
      `read_only is true and the statement is not read-only: ${classification.reason ?? classification.command}`,
    );
  }
  const values = { ...draft, read_only };
  atField('sql_query', () => refuse(values, compiled, connection, context.app.env.SVC_ALLOW_PASSTHROUGH_SQL));
  return { values, compiled };
}

/** What a statement and its description depend on. */
const CHECKED = ['connection_id', 'sql_query', 'parameters', 'return_type', 'transform_template', 'read_only'];

/** The same for a change of a stored tool; without another statement nothing is described again, and `compiled` is null. */
export async function prepareToolChange(context: Context, draft: ToolDraft, stored: ToolRow) {
  const judge: typeof guardDraft = (...[, entity_type, values]) => guardDraft(context, entity_type, values, stored);
  if (touches(draft, stored, CHECKED)) return prepareTool(context, draft, judge, stored);
  await judge(context, 'tool', draft);
  return { values: { ...draft, read_only: stored.read_only }, compiled: null };
}

const toTool = async (context: Context, row: ToolRow): Promise<Tool> => {
  const [tool] = await toTools(context, [row]);
  if (tool === undefined) throw new AppError('internal', 'The tool could not be read back.');
  return tool;
};

/** Rows with the name of their connection and what was derived from their statement. */
async function toTools(context: Context, rows: readonly ToolRow[]): Promise<Tool[]> {
  const [names, compiled] = await Promise.all([
    connectionNames(
      context,
      rows.map((row) => row.connection_id),
    ),
    readCompiled(
      context.app,
      rows.map((row) => row.id),
    ),
  ]);
  return rows.map((row) => ({
    ...row,
    connection_name: names.get(row.connection_id) ?? '',
    output_schema: compiled.get(row.id)?.output_schema ?? null,
    warnings: [...(compiled.get(row.id)?.warnings ?? [])],
  }));
}

/** `<name>_copy`, `_copy_2` …, cut so that it stays a name. */
async function copyName({ app }: Context, name: string): Promise<string> {
  const { tools: table } = app.store.tables;
  const stem = name.slice(0, 50);
  const rows = await app.store.db
    .select({ name: table.name })
    .from(table)
    .where(like(table.name, `${stem}%`));
  const taken = new Set(rows.map((row) => row.name));
  for (let n = 1; ; n++) {
    const suffix = n === 1 ? '_copy' : `_copy_${n}`;
    const candidate = `${name.slice(0, 64 - suffix.length)}${suffix}`;
    if (!taken.has(candidate)) return candidate;
  }
}
