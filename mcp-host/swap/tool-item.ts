import { TOKEN } from '#mcp-host/call/confirmation/asked-call.ts';
import { listingInOrder } from '#core/lib/call/arguments.ts';
import type { FrozenTool } from '#snapshots/format.ts';

/** Claude Code cuts a longer text unless the tool says that it may be, and never takes more than the second number. */
const USUAL_CHARACTERS = 50_000;
const MOST_CHARACTERS = 500_000;

/** A tool as `tools/list` sends it. */
export function toolItem(tool: FrozenTool): Readonly<Record<string, unknown>> {
  const listing = tool.two_step === true ? twoStep(listingInOrder(tool)) : listingInOrder(tool);
  if (tool.max_bytes <= USUAL_CHARACTERS || tool.return_type === 'image' || tool.return_type === 'audio') return listing;
  return { ...listing, _meta: { 'anthropic/maxResultSizeChars': Math.min(tool.max_bytes, MOST_CHARACTERS) } };
}

const TOKEN_SCHEMA = {
  type: 'string',
  description:
    'Only to carry out what an earlier call of this tool described: the token from its answer, with the same arguments.',
};

/** Its first answer is no result, so no schema of results holds. */
function twoStep({ outputSchema: _, ...listing }: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { inputSchema: input } = listing;
  if (typeof input !== 'object' || input === null || !('properties' in input)) return listing;
  const { properties } = input;
  if (typeof properties !== 'object') return listing;
  return { ...listing, inputSchema: { ...input, properties: { ...properties, [TOKEN]: TOKEN_SCHEMA } } };
}
