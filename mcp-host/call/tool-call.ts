import { depthFault } from '#core/query/argument-values.ts';
import { AFTER } from '#core/query/page-schemas.ts';
import { shape } from '#core/query/shape.ts';
import { isMembers, type Members, RPC, RpcError } from '#mcp-host/protocol/messages.ts';
import type { ToolEntry } from '#mcp-host/registry/registry.ts';
import { TOKEN } from '#mcp-host/registry/tool-item.ts';
import type { InputRequired } from './confirmation/pending-call.ts';
import { type CallContext, refuseScope } from './context.ts';
import { failedContent, textBlock, toolMembers, withIgnored } from './result-text.ts';
import { asksBeforeWriting, type ResultWriter } from './result-writer.ts';
import { runCall } from './run-call.ts';
import type { CallServices } from './services.ts';

/** A fault inside a tool is a result with `isError`. */
const TOOL_RESULTS: ResultWriter<ToolEntry> = {
  kind: 'tool',
  members: ({ result, transformed }, { return_type, text_format }, _, next) =>
    toolMembers(shape(result, return_type, transformed, { next, text_format })),
  addNotes: withIgnored,
  failure: ({ text }, { record }) => `"content":[${failedContent(textBlock(text), record)}],"isError":true`,
  asks: (tool) => (asksBeforeWriting(tool) || tool.ask_missing === true ? tool : null),
};

/** The members of a `tools/call` result. */
export function callTool(params: Members, context: CallContext, services: CallServices): Promise<string | InputRequired> {
  const { name } = params;
  const args = params['arguments'] ?? {};
  const tool = typeof name === 'string' ? context.registry.tools.get(name) : undefined;
  if (tool === undefined) {
    refuseScope(context, ({ tools }) => typeof name === 'string' && tools.has(name));
    throw new RpcError(RPC.invalid_params, 'Unknown tool. Read tools/list for the names.', { fault: 'not_found' });
  }
  if (!isMembers(args)) throw new RpcError(RPC.invalid_params, 'params.arguments must be an object.');
  // The request log, replays, cursors and confirmations write all arguments as JSON, even undeclared ones.
  const fault = depthFault(args);
  if (fault !== null) throw new RpcError(RPC.invalid_params, fault);
  if (tool.entity.two_step === true) {
    const { [TOKEN]: token, ...rest } = args;
    return runCall(TOOL_RESULTS, tool, { args: rest, token }, context, services);
  }
  if (tool.plan.paging === null) return runCall(TOOL_RESULTS, tool, { args }, context, services);
  const { [AFTER]: after, ...rest } = args;
  return runCall(TOOL_RESULTS, tool, { args: rest, after }, context, services);
}
