import { listingInOrder } from '#core/query/arguments.ts';
import type { FrozenTool } from './format.ts';

/** The argument that carries the token of a two-step call. */
export const TOKEN = 'confirm_token';

const TOKEN_SCHEMA = {
  type: 'string',
  description:
    'Only to carry out what an earlier call of this tool described: the token from its answer, with the same arguments.',
};

/** A tool as `tools/list` sends it, without `_meta`. */
export const servedListing = (tool: Pick<FrozenTool, 'listing' | 'parameters' | 'two_step'>): Readonly<Record<string, unknown>> =>
  tool.two_step === true ? twoStep(listingInOrder(tool)) : listingInOrder(tool);

/** The first answer of a two-step tool is not a result, so the output schema is removed. */
function twoStep({ outputSchema: _, ...listing }: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { inputSchema: input } = listing;
  if (typeof input !== 'object' || input === null || !('properties' in input)) return listing;
  const { properties } = input;
  if (typeof properties !== 'object') return listing;
  return { ...listing, inputSchema: { ...input, properties: { ...properties, [TOKEN]: TOKEN_SCHEMA } } };
}
