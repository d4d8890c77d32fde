import { type CallToolResult, createMcpHandler, ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server';
import { operations, pathVariables } from '#core/contract/index.ts';
import { AppError } from '#core/errors.ts';
import type { Log } from '#core/log.ts';
import { PRODUCT_NAME, PRODUCT_VERSION } from '#core/version.ts';
import type { Caller, ServerLink } from './server-link.ts';
import { INSTRUCTIONS } from './texts.ts';
import { type AgentTool, agentTools, toInput } from './tools.ts';

interface Identity {
  readonly id: string;
  readonly name: string;
  readonly scopes: string[];
}

/** The protocol: every request has a server of its own, so nothing of one caller reaches another. */
export function createMcp(link: ServerLink, log: Log) {
  const tools = agentTools();
  const listings = [...tools.values()].map(({ listing }) => listing);
  const handler = createMcpHandler(
    ({ authInfo }) => {
      const server = new Server(
        { name: 'sluice-agent', title: `${PRODUCT_NAME} agent endpoint`, version: PRODUCT_VERSION },
        {
          capabilities: { tools: {} },
          instructions: INSTRUCTIONS,
          cacheHints: { 'tools/list': { ttlMs: 60_000, cacheScope: 'private' } },
        },
      );
      const caller = authInfo?.extra?.['caller'] as Caller;
      server.setRequestHandler('tools/list', ({ params }) => {
        if (params?.cursor) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The cursor is not valid.');
        return { tools: listings };
      });
      server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
        const tool = tools.get(params.name);
        if (tool === undefined) {
          await link.refused(caller, params.name.slice(0, 128), 'not_found');
          throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is no tool with this name.');
        }
        return callTool(link, tool, caller, params.arguments ?? {}, mcpReq.signal, log);
      });
      return server;
    },
    { onerror: (error) => log.debug('mcp request refused', { reason: error.message.slice(0, 200) }) },
  );
  return (request: Request, body: unknown, caller: Caller, { id, scopes }: Identity): Promise<Response> =>
    handler.fetch(request, {
      authInfo: { token: caller.token, clientId: id, scopes, extra: { caller } },
      ...(body === undefined ? {} : { parsedBody: body }),
    });
}

async function callTool(
  link: ServerLink,
  tool: AgentTool,
  caller: Caller,
  given: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
  log: Log,
): Promise<CallToolResult> {
  try {
    const input = toInput(tool, given);
    const refusal = refuse(tool, given, input);
    if (refusal !== null) {
      await link.refused(caller, tool.listing.name, refusal.code);
      return failure(refusal.text);
    }
    const output = (await link.as(caller)(tool.operation, input as never, signal)) as Record<string, unknown>;
    return { content: [{ type: 'text', text: JSON.stringify(output) }], structuredContent: output };
  } catch (error) {
    if (!(error instanceof AppError)) {
      log.error('tool failed', { tool: tool.listing.name, reason: error instanceof Error ? error.message : 'unknown' });
      return failure('The call failed inside the agent endpoint. Its log says why.');
    }
    return failure(sentence(error));
  }
}

type Given = Readonly<Record<string, unknown>>;

/** What cannot be asked of the server, because its address would be another one. */
function refuse(tool: AgentTool, given: Given, input: Given): { code: 'invalid' | 'not_found'; text: string } | null {
  const missing = tool.listing.inputSchema.required.find((field) => given[field] === undefined);
  if (missing !== undefined) return { code: 'invalid', text: `${missing} is required.` };
  const { path } = operations[tool.operation];
  const dotted = pathVariables(path).some((field) => input[field] === '.' || input[field] === '..');
  return dotted ? { code: 'not_found', text: 'There is no record with this name.' } : null;
}

/** The server's own sentence, and each field that it does not name. */
function sentence({ detail, errors }: AppError): string {
  const further = errors.filter(({ message }) => !detail.includes(message)).map(({ field, message }) => `${field}: ${message}`);
  return [detail, ...further].join('\n');
}

const failure = (text: string): CallToolResult => ({ isError: true, content: [{ type: 'text', text }] });
