import { and, eq } from 'drizzle-orm';
import type { Parameter } from '#core/contract/parameters.ts';
import type { Resource, ResourceDraft } from '#core/contract/resources.ts';
import type { Schema } from '#core/store/schema.ts';
import { parseUriTemplate, uriTemplateFault } from '#core/lib/uri-template.ts';
import { AppError, invalidField } from '#core/errors.ts';
import type { Context, Handlers } from '#core/run.ts';
import { refuse, resourceDefinition } from '#snapshots/entities.ts';
import { connectionNames, ownerOf } from './connections.ts';
import { anyTag, checkVersion, overtaking, toDraft, touches } from './records.ts';
import { guardDraft } from './guard/guard.ts';
import { resources } from './nouns.ts';
import { atField, type Described, prepareDefinition, readCompiled, storeCompiled } from './statements.ts';

type ResourceRow = Schema['resources']['$inferSelect'];

export const resourceHandlers: Pick<Handlers, Extract<keyof Handlers, `resources.${string}`>> = {
  'resources.list': async (context, { connection_id, tags, ...filter }) => {
    const { resources: table } = context.app.store.tables;
    const where = and(connection_id === undefined ? undefined : eq(table.connection_id, connection_id), anyTag(table, tags));
    const { items, total } = await resources.list(context, filter, where);
    return { items: await toResources(context, items), total };
  },
  'resources.get': async (context, { id }) => toResource(context, await resources.get(context, id)),
  'resources.create': async (context, draft) => {
    const { values, compiled } = await prepareResource(context, draft);
    const row = await context.app.store.write(async (tx) => {
      await ownerOf(context, values.connection_id, tx);
      const created = await resources.insert(context, tx, values);
      await storeCompiled(context.app, tx, created.id, compiled);
      return created;
    });
    return toResource(context, row);
  },
  'resources.update': (context, { id, version, ...patch }) =>
    overtaking(version, async () => {
      const before = await resources.get(context, id);
      checkVersion('resource', before, version);
      const sent = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined));
      const { values, compiled } = await prepareResourceChange(context, { ...toDraft(before), ...sent }, before);
      const row = await context.app.store.write(async (tx) => {
        await ownerOf(context, values.connection_id, tx);
        const updated = await resources.update(context, tx, id, version ?? before.version, values);
        if (compiled !== null) await storeCompiled(context.app, tx, id, compiled);
        return updated;
      });
      return toResource(context, row);
    }),
  'resources.delete': async (context, { id }) => {
    await context.app.store.write((tx) => resources.remove(context, tx, id));
    return {};
  },
};

/** Everything that must hold before a resource is stored; nothing is stored here. @param earlier what is changed. */
export async function prepareResource(
  context: Context,
  draft: ResourceDraft,
  judge: typeof guardDraft = guardDraft,
  earlier: Described | null = null,
) {
  const connection = await ownerOf(context, draft.connection_id);
  const fault = uriTemplateFault(draft.uri_template);
  if (fault !== null) throw invalidField('uri_template', fault);
  const values = { ...draft, parameters: withVariables(draft) };
  await judge(context, 'resource', values);
  const compiled = await prepareDefinition(context.app, connection, resourceDefinition(values), earlier);
  const { classification } = compiled;
  atField('sql_query', () => refuse({ read_only: true }, compiled, connection, context.app.env.SVC_ALLOW_PASSTHROUGH_SQL));
  if (!classification.read_only) {
    throw invalidField(
      'sql_query',
      `A resource must be read-only, and this statement is not: ${classification.reason ?? classification.command}`,
    );
  }
  return { values, compiled };
}

/** What a statement and its description depend on, and the address that names its parameters. */
const CHECKED = ['connection_id', 'uri_template', 'sql_query', 'parameters', 'transform_template'];

/** The same for a change of a stored resource; without another statement nothing is described again, and `compiled` is null. */
export async function prepareResourceChange(context: Context, draft: ResourceDraft, stored: ResourceRow) {
  const judge: typeof guardDraft = (...[, entity_type, values]) => guardDraft(context, entity_type, values, stored);
  if (touches(draft, stored, CHECKED)) return prepareResource(context, draft, judge, stored);
  await judge(context, 'resource', draft);
  return { values: draft, compiled: null };
}

/** The variables of the template are the parameters: missing ones are required strings, and there are no others. */
function withVariables({ uri_template, parameters }: ResourceDraft): Parameter[] {
  const { variables } = parseUriTemplate(uri_template);
  const foreign = parameters.findIndex(({ name }) => !variables.includes(name));
  if (foreign >= 0) {
    throw invalidField(
      `parameters.${foreign}.name`,
      `The parameter ${parameters[foreign]?.name} is not a variable of uri_template.`,
    );
  }
  return variables.map(
    (name) =>
      parameters.find((parameter) => parameter.name === name) ?? { name, type: 'string', description: '', required: true },
  );
}

async function toResource(context: Context, row: ResourceRow): Promise<Resource> {
  const [resource] = await toResources(context, [row]);
  if (resource === undefined) throw new AppError('internal', 'The resource could not be read back.');
  return resource;
}

async function toResources(context: Context, rows: readonly ResourceRow[]): Promise<Resource[]> {
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
    warnings: [...(compiled.get(row.id)?.warnings ?? [])],
  }));
}
