import { ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server';
import { compileArguments } from '#core/engine/arguments.ts';
import { shape, type Shaped, shapeResource } from '#core/engine/shape.ts';
import { matchUri, parseUriTemplate, typedValues } from '#core/engine/uri-template.ts';
import { AppError } from '#core/errors.ts';
import type { Json, QueryResult } from '#core/sources/source.ts';
import type { Project, Prompt, Query, Resource } from './definitions.ts';
import { bind } from './sql.ts';
import { applyTemplate, renderPrompt } from './templates.ts';

type Arguments = Readonly<Record<string, unknown>>;

/** Builds the MCP server of one client: nothing is shared between clients but the databases. */
export function createCatalogue(project: Project): () => Server {
  const tools = new Map(project.tools.map((tool) => [tool.listing.name, { tool, check: compileArguments(tool.parameters) }]));
  const prompts = new Map(project.prompts.map((prompt) => [prompt.listing.name, prompt]));
  const resources = project.resources.map((resource) => ({
    resource,
    template: parseUriTemplate(resource.uri_template),
    check: compileArguments(resource.parameters),
  }));
  const fixed = project.resources.filter(({ uri_template }) => !uri_template.includes('{'));
  const templates = project.resources.filter(({ uri_template }) => uri_template.includes('{'));

  return () => {
    const capabilities = { tools: {}, resources: {}, prompts: {} };
    const server = new Server({ name: project.name, version: project.version }, { capabilities });
    server.setRequestHandler('tools/list', () => ({ tools: listings(project.tools) }));
    server.setRequestHandler('resources/list', () => ({ resources: listings(fixed) }));
    server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: listings(templates) }));
    server.setRequestHandler('prompts/list', () => ({ prompts: listings(project.prompts) }));

    server.setRequestHandler('tools/call', async ({ params }, context) => {
      const found = tools.get(params.name);
      if (found === undefined)
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Unknown tool. Read tools/list for the names.');
      try {
        const { tool, check } = found;
        const { result, transformed } = await run(project, tool, await check(params.arguments), context.mcpReq.signal);
        return toToolResult(shape(result, tool.return_type, transformed));
      } catch (error) {
        return { content: [{ type: 'text', text: sentenceOf(error) }], isError: true };
      }
    });

    server.setRequestHandler('resources/read', async ({ params: { uri } }, context) => {
      for (const { resource, template, check } of resources) {
        const values = matchUri(template, uri);
        if (values === null) continue;
        return readResource(project, resource, uri, await check(typedValues(values, resource.parameters)), context.mcpReq.signal);
      }
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Resource not found.');
    });

    server.setRequestHandler('prompts/get', ({ params }) => {
      const prompt = prompts.get(params.name);
      if (prompt === undefined)
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Unknown prompt. Read prompts/list for the names.');
      const messages = renderPrompt(prompt, checkPromptArguments(prompt, params.arguments ?? {}), project.variables);
      return { messages: messages.map(({ role, text }) => ({ role, content: { type: 'text', text } })) };
    });
    return server;
  };
}

const listings = (items: readonly { readonly listing: object }[]) => items.map(({ listing }) => listing) as never;

type Values = Readonly<Record<string, Json | undefined>>;

async function run(project: Project, query: Query, values: Values, signal: AbortSignal) {
  const { writes, timeout_ms, max_rows, max_bytes, transform_template } = query;
  const database = project.connections[query.connection];
  if (database === undefined) throw new AppError('internal', 'The connection of this query is missing in connections.ts.');
  const result = await database.query(bind(query, values), { writes, timeout_ms, max_rows, max_bytes, signal });
  const params = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value ?? null]));
  const transformed = applyTemplate(transform_template, { rows: result.rows, params, vars: project.variables });
  return { result, transformed };
}

/** Structured content stands also as text, for clients that read only one of them. */
function toToolResult({ structured, text, media, note }: Shaped) {
  const written = structured === null ? text : JSON.stringify(structured);
  const content = [
    ...(written === null ? [] : [{ type: 'text' as const, text: written }]),
    ...(media === null ? [] : [{ type: media.kind, data: media.data, mimeType: media.mime_type }]),
    ...(note === null ? [] : [{ type: 'text' as const, text: note }]),
  ];
  return structured === null ? { content } : { content, structuredContent: structured };
}

async function readResource(project: Project, resource: Resource, uri: string, values: Values, signal: AbortSignal) {
  const { mime_type } = resource;
  let outcome: { result: QueryResult; transformed: Parameters<typeof shapeResource>[2] };
  try {
    outcome = await run(project, resource, values, signal);
  } catch (error) {
    throw new ProtocolError(ProtocolErrorCode.InternalError, sentenceOf(error));
  }
  return { contents: [{ uri, mimeType: mime_type, ...shapeResource(outcome.result, mime_type, outcome.transformed) }] };
}

/** Optional arguments that were not given are empty texts, so that a template may test them. */
function checkPromptArguments(prompt: Prompt, given: Arguments): Record<string, string> {
  const faults: string[] = [];
  const values: Record<string, string> = {};
  for (const { name, required, enum: allowed } of prompt.arguments) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    if (value === undefined && required) faults.push(`${name}: is required`);
    else if (value !== undefined && typeof value !== 'string') faults.push(`${name}: must be a string`);
    else if (typeof value === 'string' && allowed !== undefined && !allowed.includes(value))
      faults.push(`${name}: must be one of ${allowed.join(', ')}`);
    values[name] = typeof value === 'string' ? value : '';
  }
  if (faults.length > 0) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Invalid arguments. ${faults.join('; ')}.`);
  return values;
}

/** What a caller may read of a failure: our own sentences, and what the database says of the statement. */
function sentenceOf(error: unknown): string {
  if (error instanceof AppError) return error.detail;
  console.error(error);
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (/^(ECONN|ENOTFOUND|EAI_|ETIMEDOUT|CONNECT_TIMEOUT)/.test(code)) return 'The database cannot be reached.';
  return error instanceof Error ? error.message : 'The call failed.';
}
