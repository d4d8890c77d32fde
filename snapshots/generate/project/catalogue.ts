import {
  type CallToolResult,
  type McpRequestContext,
  ProtocolError,
  ProtocolErrorCode,
  Server,
} from '@modelcontextprotocol/server';
import type { UndeclaredRecord } from '#core/query/arguments.ts';
import { limited } from '#core/query/limits.ts';
import { withoutBlankMessages } from '#core/query/shape.ts';
import { shape, shapeResource, toToolResult } from '#core/query/shape.ts';
import type { Transformed } from '#core/lib/template/transform.ts';
import { IGNORED_META, ignoredText } from '#core/lib/text/undeclared-arguments.ts';
import { compileValues, NO_CALLER } from '#core/query/values.ts';
import { literalLength, matchUri, normalUri, parseUriTemplate, typedValues, type UriTemplate } from '#core/lib/uri-template.ts';
import { AppError, CHANGE_MADE, COMMIT_UNKNOWN } from '#core/errors.ts';
import type { Json, QueryResult } from '#core/lib/sql/result.ts';
import type { Project, Prompt, Query, Resource } from './definitions.ts';
import { bind } from './sql.ts';
import { applyTemplate, renderPrompt } from './templates.ts';

type Arguments = Readonly<Record<string, unknown>>;
type Values = Readonly<Record<string, Json | undefined>>;

/** Checks the arguments of a query and fills parameters with other sources: variables, and the time and ID of the call. */
function valuesOf({ variables }: Project, { parameters, sql, writes }: Query) {
  const resolve = compileValues(parameters, { nodes: sql }, writes);
  return (args: unknown, record?: UndeclaredRecord): Values | Promise<Values> => {
    const call = { id: crypto.randomUUID(), time: Date.now() };
    return resolve({ arguments: args, vars: variables, caller: NO_CALLER, call }, record);
  };
}

/** Builds the MCP server for one client. Clients share only the databases. */
export function createCatalogue(project: Project): (context: McpRequestContext) => Server {
  const tools = new Map(project.tools.map((tool) => [tool.listing.name, { tool, check: valuesOf(project, tool) }]));
  const prompts = new Map(project.prompts.map((prompt) => [prompt.listing.name, prompt]));
  const resources = project.resources
    .map((resource) => ({ resource, template: parseUriTemplate(resource.uri_template), check: valuesOf(project, resource) }))
    .toSorted(
      (a, b) =>
        Number(isFixed(b.template)) - Number(isFixed(a.template)) || literalLength(b.template) - literalLength(a.template),
    );
  const fixed = project.resources.filter(({ uri_template }) => !uri_template.includes('{'));
  const templates = project.resources.filter(({ uri_template }) => uri_template.includes('{'));

  return ({ era }) => {
    const capabilities = { tools: {}, resources: {}, prompts: {} };
    const { name, version, instructions } = project;
    const server = new Server({ name, version }, { capabilities, ...(instructions === null ? {} : { instructions }) });
    if (era === 'legacy') answerAsBefore(server);
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
        const { return_type, text_format } = tool;
        const record: UndeclaredRecord = { refuses_undeclared: project.refuses_undeclared, undeclared: 0, ignored: [] };
        const values = await check(params.arguments, record);
        return await run(project, tool, values, context.mcpReq.signal, (result, transformed) =>
          withIgnored(toToolResult(shape(limited(result, tool), return_type, transformed, { text_format })), record),
        );
      } catch (error) {
        return { content: [{ type: 'text', text: sentenceOf(error) }], isError: true };
      }
    });

    server.setRequestHandler('resources/read', async ({ params: { uri } }, context) => {
      const address = normalUri(uri);
      for (const { resource, template, check } of resources) {
        const values = matchUri(template, address);
        if (values === null) continue;
        const typed = () => check(typedValues(values, resource.parameters));
        return readResource(project, resource, uri, typed, context.mcpReq.signal);
      }
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, NOT_FOUND, { uri });
    });

    server.setRequestHandler('prompts/get', ({ params }) => {
      const prompt = prompts.get(params.name);
      if (prompt === undefined)
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Unknown prompt. Read prompts/list for the names.');
      const messages = withoutBlankMessages(
        renderPrompt(prompt, checkPromptArguments(prompt, params.arguments ?? {}), project.variables),
      );
      return { messages: messages.map(({ role, text }) => ({ role, content: { type: 'text', text } })) };
    });
    return server;
  };
}

/** Lists ignored arguments of a read tool's call, in the text and in `_meta`. */
function withIgnored(result: ReturnType<typeof toToolResult>, { ignored }: UndeclaredRecord): CallToolResult {
  if (ignored.length === 0) return result;
  const content = [...result.content, { type: 'text' as const, text: ignoredText(ignored) }];
  return { ...result, content, _meta: { [IGNORED_META]: ignored } };
}

/** Fixed URIs are tried before templates with variables. */
const isFixed = ({ variables }: UriTemplate): boolean => variables.length === 0;

const NOT_FOUND = 'Resource not found.';
/** The code of NOT_FOUND up to revision 2025-11-25. The SDK sends the newer code in all revisions. */
const NOT_FOUND_BEFORE = -32_002;

function answerAsBefore(server: Server): void {
  const connect = server.connect.bind(server);
  server.connect = (transport) => {
    const send = transport.send.bind(transport);
    transport.send = (message, options) => {
      const missing = 'error' in message && message.error.message === NOT_FOUND;
      return send(missing ? { ...message, error: { ...message.error, code: NOT_FOUND_BEFORE } } : message, options);
    };
    return connect(transport);
  };
}

const listings = (items: readonly { readonly listing: object }[]) => items.map(({ listing }) => listing) as never;

/** @param finish creates the response. */
async function run<Answer>(
  project: Project,
  query: Query,
  values: Values,
  signal: AbortSignal,
  finish: (result: QueryResult, transformed: Transformed | null) => Answer,
): Promise<Answer> {
  const { writes, timeout_ms, max_rows, max_bytes, transform_template } = query;
  const database = project.connections[query.connection];
  if (database === undefined) throw new AppError('internal', 'The connection of this query is missing in connections.ts.');
  const result = await database.query(bind(query, values, database), {
    writes,
    timeout_ms,
    max_rows,
    max_bytes,
    signal,
  });
  try {
    const params = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value ?? null]));
    return finish(result, applyTemplate(transform_template, { rows: result.rows, params, vars: project.variables }));
  } catch (error) {
    if (!writes) throw error;
    throw new AppError('bad_request', `${CHANGE_MADE} ${sentenceOf(error)}`, { cause: error });
  }
}

async function readResource(
  project: Project,
  resource: Resource,
  uri: string,
  check: () => Values | Promise<Values>,
  signal: AbortSignal,
) {
  const { mime_type } = resource;
  try {
    return await run(project, resource, await check(), signal, (result, transformed) => {
      const meta = result.truncated ? { _meta: { truncated: true, row_count: result.rows.length } } : {};
      return { contents: [{ uri, mimeType: mime_type, ...shapeResource(result, mime_type, transformed) }], ...meta };
    });
  } catch (error) {
    const in_arguments = error instanceof AppError && error.errors.length > 0;
    const code = in_arguments ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError;
    throw new ProtocolError(code, sentenceOf(error), { uri });
  }
}

/** Missing optional arguments become empty strings, so that a template can test them. */
function checkPromptArguments(prompt: Prompt, given: Arguments): Record<string, string> {
  const faults: string[] = [];
  const values: Record<string, string> = Object.create(null);
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

const UNREACHABLE = 'The database of this tool cannot be reached right now. Try again later, or see the output of the server.';
const INTERNAL = 'The call failed because of an internal error. See the output of the server.';

/** Errors that only the operator can fix. */
const HIDDEN: ReadonlySet<string> = new Set(['database_unreachable', 'private_network_blocked', 'internal']);

/** The error message for a caller: messages of this project, and the database's message about the statement. */
function sentenceOf(error: unknown): string {
  if (error instanceof AppError && (error.reason === COMMIT_UNKNOWN || !HIDDEN.has(error.code))) return error.detail;
  console.error(error);
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return code === 'internal' || !HIDDEN.has(code) ? INTERNAL : UNREACHABLE;
}
