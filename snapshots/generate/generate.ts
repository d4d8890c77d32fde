import type { FrozenPrompt, FrozenTool, Snapshot, FrozenResource } from '#snapshots/format/format.ts';
import type { FrozenQuery } from '#core/query/frozen-query.ts';
import { isGuarded } from '#core/contract/definitions/write-guard.ts';
import { type GeneratedFile, ourSources, readSource } from './files.ts';
import { literal, sqlImports, sqlLiteral } from './literal.ts';
import { nameConnections, createNames } from './names.ts';
import { connectionSource, partsOf } from './connections.ts';
import { environmentExample, IGNORED, packageJson, readme, TSCONFIG } from './texts.ts';
import { parseTemplate } from '#core/lib/template/parse.ts';
import { listingInOrder } from '#core/query/arguments.ts';
import type { NamedConnection } from '#core/engines/shared/project.ts';
import { engineOf } from '#core/engines/index.ts';
import { isHostList } from '#core/engines/shared/hosts/host-list.ts';

/**
 * Generates a standalone TypeScript project from a snapshot: same SQL, same checks, same results. Deterministic. It contains no
 * secret and no ciphertext; secrets come from environment variables.
 */
export function generate(snapshot: Snapshot): GeneratedFile[] {
  const { server, connections, tools, resources, prompts } = snapshot.content;
  const named = nameConnections(connections);
  const left_out: string[] = [];
  const served = <E extends { readonly name: string }>(entities: readonly E[], why: (entity: E) => string | null): E[] =>
    entities.filter((entity) => {
      const reason = why(entity);
      if (reason !== null) left_out.push(`\`${entity.name}\`: ${reason}`);
      return reason === null;
    });
  const caller_connections = new Set(
    connections.filter(({ session_values, session_role }) => session_values !== undefined || session_role).map(({ id }) => id),
  );
  const tunnelled = new Set(connections.filter(({ ssh }) => ssh).map(({ id }) => id));
  const chosen = new Set(connections.filter(({ host, target }) => isHostList(host) || target !== undefined).map(({ id }) => id));
  const why = ({ connection_id, ...query }: FrozenQuery) =>
    tunnelled.has(connection_id)
      ? TUNNELLED
      : chosen.has(connection_id)
        ? SEVERAL_HOSTS
        : whyLeftOut({ connection_id, ...query }, caller_connections);
  const greets = ({ arguments: args, messages }: FrozenPrompt): string | null =>
    !args.some(({ name }) => name === 'caller') && messages.some(({ template }) => readsCaller(template)) ? NO_CALLER : null;
  const whyTool = (tool: FrozenTool) => {
    if (tool.mode === 'write' && isGuarded(tool)) return GUARDED;
    if (tool.page_by !== undefined) return PAGED;
    if (tool.plan_limit === 'refuse') return PLANNED;
    return tool.max_tokens === undefined ? why(tool) : COUNTED;
  };
  const included = { tools: served(tools, whyTool), resources: served(resources, why), prompts: served(prompts, greets) };
  const used = new Set([...included.tools, ...included.resources].map(({ connection_id }) => connection_id));
  const linked = [...named.values()].filter(({ connection }) => used.has(connection.id));
  const templates =
    included.prompts.length > 0 || [...included.tools, ...included.resources].some((query) => query.transform_template !== null);
  const parts = partsOf(linked);
  const facts = { snapshot, linked, parts, templates, left_out, ...included };

  const files = [
    { path: 'package.json', content: packageJson(facts, readSource('package.json')) },
    { path: 'tsconfig.json', content: TSCONFIG },
    { path: 'README.md', content: readme(facts) },
    { path: '.env.example', content: environmentExample(facts) },
    { path: '.gitignore', content: IGNORED },
    { path: 'src/main.ts', content: mainSource(snapshot) },
    { path: 'src/connections.ts', content: connectionSource(linked) },
    ...folder('tools', 'Tool', included.tools, (tool) => toolSource(tool, named)),
    ...folder('resources', 'Resource', included.resources, (resource) => resourceSource(resource, named)),
    ...folder('prompts', 'Prompt', included.prompts, promptSource),
    { path: 'src/engine/types.ts', content: readSource('snapshots/generate/project-types.ts') },
    ...ourSources([
      `snapshots/generate/project/${templates ? 'templates' : 'no-templates'}.ts`,
      'snapshots/generate/project/server.ts',
      ...parts.map(({ driver }) => driver),
    ]),
  ];
  return files.toSorted((a, b) => (a.path < b.path ? -1 : 1));

  function mainSource({ version }: Snapshot): string {
    const project = {
      name: server.server_name,
      version: String(version),
      instructions: server.instructions ?? null,
      host: server.host,
      port: server.port,
      needs_token: server.auth_type !== 'none',
      refuses_undeclared: server.undeclared_arguments === 'refuse',
      allowed_origins: server.cors_origins,
      variables: server.global_variables,
    };
    const members = Object.entries(project).map(([name, value]) => `  ${name}: ${literal(value, '  ')},\n`);
    return `import { connections } from './connections.ts';
import { prompts } from './prompts/index.ts';
import { resources } from './resources/index.ts';
import { serve } from './server.ts';
import { tools } from './tools/index.ts';

serve({
${members.join('')}  connections,
  tools,
  resources,
  prompts,
});
`;
  }
}

/** A project neither counts rows nor asks a person, so the tool would write without confirmation. */
const GUARDED = 'it is limited or confirmed by the rows that it changes, which only Sluice counts';

const PASSTHROUGH = 'its whole statement is an argument, which only Sluice can guard';

const PAGED = 'its results come in pages, whose cursors only Sluice seals';

const COUNTED = 'its results are limited by tokens, which only Sluice counts';

const PLANNED = 'it refuses calls by their plan, which only Sluice reads';

const TUNNELLED = 'its connection goes through an SSH tunnel, which only Sluice opens';

const SEVERAL_HOSTS = 'its connection has several hosts or a target, by which only Sluice chooses';

/** A project has one bearer token and does not identify callers, so protection by caller would be missing. */
const NO_CALLER = 'it depends on who calls, which only Sluice knows';

/** @param caller_connections connections that send session values about the caller to their database. */
function whyLeftOut(
  { statement, parameters, transform_template, masks, connection_id, passthrough }: FrozenQuery,
  caller_connections: ReadonlySet<string>,
): string | null {
  const runs_text = statement.nodes.every((node) => (typeof node === 'string' ? /^[\s;]*$/.test(node) : 'name' in node));
  if (runs_text || passthrough === true) return PASSTHROUGH;
  const receives_caller = caller_connections.has(connection_id) || masks !== undefined;
  const fills = parameters.some(({ from }) => from?.startsWith('caller.') === true);
  return receives_caller || fills || readsCaller(transform_template) ? NO_CALLER : null;
}

const readsCaller = (template: string | null): boolean =>
  template !== null && parseTemplate(template).program.free.includes('caller');

/** One file per entity and an index. */
function folder<E extends { readonly name: string }>(
  noun: string,
  type: string,
  entities: readonly E[],
  source: (entity: E) => string,
): GeneratedFile[] {
  const name = createNames(['index']);
  const single = noun.slice(0, -1);
  const files = entities.map((entity) => ({ word: name(entity.name), content: source(entity) }));
  const index = `import type { ${type} } from '../definitions.ts';
${files.map(({ word }) => `import { ${single} as ${single}_${word} } from './${word}.ts';\n`).join('')}
export const ${noun}: readonly ${type}[] = [${files.map(({ word }) => `\n  ${single}_${word},`).join('')}${files.length > 0 ? '\n' : ''}];
`;
  return [
    { path: `src/${noun}/index.ts`, content: index },
    ...files.map(({ word, content }) => ({ path: `src/${noun}/${word}.ts`, content })),
  ];
}

function toolSource(tool: FrozenTool, named: ReadonlyMap<string, NamedConnection>): string {
  return queryFile('Tool', 'tool', tool, named, {
    listing: listingInOrder(tool),
    return_type: tool.return_type,
    ...(tool.text_format === undefined ? {} : { text_format: tool.text_format }),
  });
}

function resourceSource(resource: FrozenResource, named: ReadonlyMap<string, NamedConnection>): string {
  const { listing, uri_template, mime_type } = resource;
  return queryFile('Resource', 'resource', resource, named, { listing, uri_template, mime_type });
}

function queryFile(
  type: string,
  name: string,
  query: FrozenQuery,
  named: ReadonlyMap<string, NamedConnection>,
  first_members: Readonly<Record<string, unknown>>,
): string {
  const { statement, connection_id } = query;
  const link = named.get(connection_id);
  return `import type { ${type} } from '../definitions.ts';
import { ${sqlImports(statement.nodes).join(', ')} } from '../sql.ts';

export const ${name}: ${type} = {
${members({
  ...first_members,
  connection: link?.key,
  writes: query.mode === 'write' && link?.connection.read_only === false,
  dialect: link === undefined ? null : engineOf(link.connection.db_type).dialect.name,
})}  sql: ${sqlLiteral(statement.nodes)},
${members({
  types: statement.types,
  ...(statement.given !== undefined && { given: statement.given }),
  parameters: query.parameters,
  timeout_ms: query.timeout_ms,
  max_rows: query.max_rows,
  max_bytes: query.max_bytes,
  transform_template: query.transform_template,
})}};
`;
}

function promptSource({ arguments: args, messages, listing }: FrozenPrompt): string {
  return `import type { Prompt } from '../definitions.ts';

export const prompt: Prompt = {
${members({ listing, arguments: args, messages })}};
`;
}

function members(values: Readonly<Record<string, unknown>>): string {
  return Object.entries(values)
    .map(([name, value]) => `  ${name}: ${literal(value, '  ')},\n`)
    .join('');
}
