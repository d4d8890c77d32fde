import { LONGEST_NOTE } from '#core/contract/proposals.ts';
import { wayOf } from '#core/contract/proposal-ways.ts';
import type { AgentTool } from './tools.ts';
import { invalidField } from '#core/errors.ts';
import { refuseUnkeepable } from '#core/process/issues.ts';

/** The proposal that a call adds to, and the reason for its change. */
export interface Proposal {
  readonly id: string | null;
  readonly note: string | null;
}

type ToolInput = Readonly<Record<string, unknown>>;

/** Additional arguments of tools for tokens with the scope `propose`. */
const PROPOSAL_ID = 'proposal_id';

const PROPOSAL_NOTE = 'proposal_note';

/** Short, because models read it for every tool. */
const ID = { type: 'string', maxLength: 64, description: 'A proposal of yours, or new' };

const NOTE = { type: 'string', maxLength: LONGEST_NOTE, description: 'Why, for the person who reviews it' };

/** The format that the header of the API accepts. */
const ID_FORMAT = /^[\w-]{1,64}$/;

/** Added to the instructions of the endpoint for such a token. */
export const PROPOSING = [
  'This token proposes: what you write changes nothing until a person approves it. Answers then have proposed and proposal_id, and ids that stay.',
  'Writes gather in your open proposal; proposal_id names another one, or new begins one. Say why in proposal_note of the first.',
  'Tools that read and take proposal_id see what is proposed; the others see what is stored. A person also deploys it.',
].join(' ');

/** Whether the tools of these scopes take a proposal. */
export const mayPropose = (scopes: readonly string[]): boolean => scopes.includes('propose');

/** Whether a tool adds to a proposal, reads through one, or neither. */
function roleOf({ operation, access, arguments: names }: AgentTool): 'adds' | 'sees' | null {
  if (names.includes(PROPOSAL_ID)) return null;
  const way = wayOf(operation, { access }, {});
  return way === 'change' ? 'adds' : way === 'look' ? 'sees' : null;
}

export function listingFor(tool: AgentTool, scopes: readonly string[]): AgentTool['listing'] {
  const { listing } = tool;
  const role = roleOf(tool);
  if (!mayPropose(scopes) || role === null) return listing;
  const properties = {
    ...(listing.inputSchema['properties'] as object),
    [PROPOSAL_ID]: ID,
    ...(role === 'adds' ? { [PROPOSAL_NOTE]: NOTE } : {}),
  };
  return { ...listing, inputSchema: { ...listing.inputSchema, properties } };
}

/** The arguments without those of a proposal. For other tokens these are undeclared arguments. */
export function withoutProposal(tool: AgentTool, given: ToolInput, scopes: readonly string[]): ToolInput {
  if (!mayPropose(scopes) || tool.arguments.includes(PROPOSAL_ID)) return given;
  const { [PROPOSAL_ID]: _, [PROPOSAL_NOTE]: _note, ...args } = given;
  return args;
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null && value !== '';

/** Refuses the call, because a caller that names a proposal expects that nothing changes. */
const NO_PROPOSALS = `This token does not propose: its changes are stored at once. Leave out ${PROPOSAL_ID} and ${PROPOSAL_NOTE}.`;

export function takeProposal(
  tool: AgentTool,
  given: ToolInput,
  scopes: readonly string[],
): { readonly args: ToolInput; readonly proposal: Proposal } {
  if (
    !mayPropose(scopes) &&
    !tool.arguments.includes(PROPOSAL_ID) &&
    (isGiven(given[PROPOSAL_ID]) || isGiven(given[PROPOSAL_NOTE]))
  ) {
    throw invalidField(PROPOSAL_ID, NO_PROPOSALS);
  }
  const args = withoutProposal(tool, given, scopes);
  if (args === given) return { args, proposal: { id: null, note: null } };
  const role = roleOf(tool);
  const { [PROPOSAL_ID]: id, [PROPOSAL_NOTE]: note } = given;
  const text = (name: string, value: unknown): string | null => {
    if (!isGiven(value)) return null;
    if (typeof value !== 'string') throw invalidField(name, `${name} must be a string.`);
    refuseUnkeepable({ [name]: value });
    return value.trim();
  };
  const named = text(PROPOSAL_ID, id);
  if (named !== null && !ID_FORMAT.test(named)) {
    throw invalidField(PROPOSAL_ID, `${PROPOSAL_ID} must be new or the id of a proposal.`);
  }
  if (named !== null && role === null) {
    throw invalidField(
      PROPOSAL_ID,
      `${tool.listing.name} does not take ${PROPOSAL_ID}: it neither sees nor changes what is proposed. Leave it out.`,
    );
  }
  const note_text = role === 'adds' ? text(PROPOSAL_NOTE, note) : null;
  if (note_text !== null && note_text.length > LONGEST_NOTE) {
    throw invalidField(PROPOSAL_NOTE, `${PROPOSAL_NOTE} must have at most ${LONGEST_NOTE} characters.`);
  }
  return { args, proposal: { id: named, note: note_text } };
}
