import { LONGEST_NOTE } from '#core/contract/proposals.ts';
import { wayOf } from '#core/contract/proposal-ways.ts';
import type { AgentTool } from './tools.ts';
import { invalidField } from '#core/errors.ts';
import { refuseUnkeepable } from '#core/process/issues.ts';

/** The proposal that a call names, and why it proposes. */
export interface Proposal {
  readonly id: string | null;
  readonly note: string | null;
}

type ToolInput = Readonly<Record<string, unknown>>;

/** Arguments that the tools of a token with the scope `propose` have beside their own. */
export const PROPOSAL_ID = 'proposal_id';

export const PROPOSAL_NOTE = 'proposal_note';

/** Said once with the note, and of each other tool in few words: the list is read by models. */
const ID = { type: 'string', maxLength: 64, description: 'A proposal of yours, or new' };

const NOTE = { type: 'string', maxLength: LONGEST_NOTE, description: 'Why, for the person who reviews it' };

/** What the header of the server's API can hold. */
const ID_FORMAT = /^[\w-]{1,64}$/;

/** What such a token is told beside the instructions of the endpoint. */
export const PROPOSING = [
  'This token proposes: what you write changes nothing until a person approves it. Answers then have proposed and proposal_id, and ids that stay.',
  'Writes gather in your open proposal; proposal_id names another one, or new begins one. Say why in proposal_note of the first.',
  'Tools that read and take proposal_id see what is proposed; the others see what is stored. A person also deploys it.',
].join(' ');

/** Whether the tools of these scopes take a proposal. */
export const mayPropose = (scopes: readonly string[]): boolean => scopes.includes('propose');

/** What a tool has to do with a proposal: it adds to one, or sees what one proposes, or neither. */
function roleOf({ operation, access, arguments: own }: AgentTool): 'adds' | 'sees' | null {
  if (own.includes(PROPOSAL_ID)) return null;
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

/** The arguments without what is said of a proposal. For other tokens these names are like any that no tool has. */
export function withoutProposal(tool: AgentTool, given: ToolInput, scopes: readonly string[]): ToolInput {
  if (!mayPropose(scopes) || tool.arguments.includes(PROPOSAL_ID)) return given;
  const { [PROPOSAL_ID]: _, [PROPOSAL_NOTE]: _note, ...own } = given;
  return own;
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null && value !== '';

/** Whoever names a proposal expects that nothing changes. */
const NO_PROPOSALS = `This token does not propose: its changes are stored at once. Leave out ${PROPOSAL_ID} and ${PROPOSAL_NOTE}.`;

export function takeProposal(
  tool: AgentTool,
  given: ToolInput,
  scopes: readonly string[],
): { readonly own: ToolInput; readonly proposal: Proposal } {
  if (
    !mayPropose(scopes) &&
    !tool.arguments.includes(PROPOSAL_ID) &&
    (isGiven(given[PROPOSAL_ID]) || isGiven(given[PROPOSAL_NOTE]))
  ) {
    throw invalidField(PROPOSAL_ID, NO_PROPOSALS);
  }
  const own = withoutProposal(tool, given, scopes);
  if (own === given) return { own, proposal: { id: null, note: null } };
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
  const said = role === 'adds' ? text(PROPOSAL_NOTE, note) : null;
  if (said !== null && said.length > LONGEST_NOTE) {
    throw invalidField(PROPOSAL_NOTE, `${PROPOSAL_NOTE} must have at most ${LONGEST_NOTE} characters.`);
  }
  return { own, proposal: { id: named, note: said } };
}
