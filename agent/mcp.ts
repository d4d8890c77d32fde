import { type CallToolResult, createMcpHandler, ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server';
import { namedOf } from '#core/lib/text/undeclared-arguments.ts';
import { withWholeEvents } from '#core/lib/text/wire-text.ts';
import { AppError } from '#core/errors.ts';
import { type Log, reasonOf, traceOf } from '#core/process/log.ts';
import { PRODUCT_NAME, PRODUCT_VERSION } from '#core/process/version.ts';
import { createMarks, type GuardMark } from './tools/marked-answers.ts';
import { listingFor, mayPropose, PROPOSING, takeProposal, withoutProposal } from './tools/proposing.ts';
import { refuse, sentence } from './tools/input-faults.ts';
import type { Caller, ServerLink } from './server-link.ts';
import { INSTRUCTIONS } from './tools/texts.ts';
import { type AgentTool, agentTools, type Tally, toInput, undeclaredIn } from './tools/tools.ts';

/** `is_local`: the sentence is this program's, and holds no text of others. */
type ToolCallResult = { readonly output: Record<string, unknown> } | { readonly failed: string; readonly is_local?: true };

interface Identity {
  readonly id: string;
  readonly name: string;
  readonly scopes: string[];
}

/** Serves MCP. Every request gets a new protocol server, so that callers share no state. */
export function createMcp(link: ServerLink, log: Log, tally: Tally) {
  const tools = agentTools();
  const marks = createMarks([...tools.keys()]);
  const marksOf = async (answer: unknown): Promise<GuardMark[]> => {
    const { guard } = await link.settings();
    return guard === null ? [] : marks(answer, guard);
  };
  const listed = new Map([false, true].map((proposes) => [proposes, listingsOf([...tools.values()], proposes)]));
  const handler = createMcpHandler(
    ({ authInfo }) => {
      const scopes = authInfo?.scopes ?? [];
      const proposes = mayPropose(scopes);
      const server = new Server(
        { name: 'sluice-agent', title: `${PRODUCT_NAME} agent endpoint`, version: PRODUCT_VERSION },
        {
          capabilities: { tools: {} },
          instructions: proposes && !scopes.includes('write') ? `${INSTRUCTIONS} ${PROPOSING}` : INSTRUCTIONS,
          cacheHints: { 'tools/list': { ttlMs: 60_000, cacheScope: 'private' } },
        },
      );
      const caller = authInfo?.extra?.['caller'] as Caller;
      server.setRequestHandler('tools/list', ({ params }) => {
        if (params?.cursor) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The cursor is not valid.');
        return { tools: listed.get(proposes) ?? [] };
      });
      server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
        const tool = tools.get(params.name);
        if (tool === undefined) {
          await link.refused(caller, params.name.slice(0, 128), 'not_found');
          throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is no tool with this name.');
        }
        const given = params.arguments ?? {};
        const ignored = undeclaredIn(tool, withoutProposal(tool, given, scopes));
        tally.undeclared += ignored.length;
        return toResult(await callTool(link, tool, { ...caller, scopes }, given, mcpReq.signal, log), ignored, marksOf);
      });
      return server;
    },
    { onerror: (error) => log.debug('mcp request refused', { reason: reasonOf(error).slice(0, 200) }) },
  );
  return async (request: Request, body: unknown, caller: Caller, { id, scopes }: Identity): Promise<Response> => {
    const response = await handler.fetch(request, {
      authInfo: { token: caller.token, clientId: id, scopes, extra: { caller } },
      ...(body === undefined ? {} : { parsedBody: body }),
    });
    return withWholeEvents(response);
  };
}

const listingsOf = (tools: readonly AgentTool[], proposes: boolean) =>
  tools.map((tool) => listingFor(tool, proposes ? ['propose'] : []));

async function callTool(
  link: ServerLink,
  tool: AgentTool,
  caller: Caller & { readonly scopes: readonly string[] },
  given: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
  log: Log,
): Promise<ToolCallResult> {
  try {
    const { args, proposal } = takeProposal(tool, given, caller.scopes);
    const input = toInput(tool, args);
    const refusal = refuse(tool, args, input);
    if (refusal !== null) {
      await link.refused(caller, tool.listing.name, refusal.code);
      return { failed: refusal.text, is_local: true };
    }
    return { output: await link.as(caller, proposal)(tool.operation, input as never, signal) };
  } catch (error) {
    if (!(error instanceof AppError)) {
      log.error('tool failed', { tool: tool.listing.name, reason: traceOf(error) });
      return { failed: 'The call failed in the agent endpoint. See its log.', is_local: true };
    }
    return { failed: sentence(tool, error) };
  }
}

/** Adds warnings about suspicious text before the answer. The text stays as it is. */
async function toResult(
  outcome: ToolCallResult,
  ignored: readonly string[],
  marksOf: (answer: unknown) => Promise<GuardMark[]>,
): Promise<CallToolResult> {
  const failed = 'failed' in outcome;
  const read = !failed ? outcome.output : outcome.is_local === true ? {} : { message: outcome.failed };
  const found = await marksOf(read).catch((error: unknown) => {
    // The settings of the guard could not be read. The answer is not held back for that.
    if (error instanceof AppError) return [];
    throw error;
  });
  const warning = found.length === 0 ? {} : { _warnings: found };
  if (!failed) {
    const left_out = ignored.length === 0 ? {} : { _ignored: namedOf(ignored) };
    const output = { ...warning, ...left_out, ...outcome.output };
    return { content: [textOf(JSON.stringify(output))], structuredContent: output };
  }
  const before = found.length === 0 ? [] : [textOf(JSON.stringify(warning))];
  return { isError: true, content: [...before, textOf(outcome.failed)] };
}

const textOf = (text: string) => ({ type: 'text' as const, text });
