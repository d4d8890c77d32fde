import { LONGEST_NOTE } from '#core/contract/proposals.ts';
import { invalidField } from '#core/errors.ts';
import { refuseUnkeepable } from '#core/issues.ts';
import type { Proposal } from './server-link.ts';
import type { AgentTool } from './tools.ts';

type Given = Readonly<Record<string, unknown>>;

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
  'get_, list_ and preview tools and run_tests with proposal_id see what is proposed. A person also deploys it.',
].join(' ');

/** Whether the tools of these scopes take a proposal. */
export const mayPropose = (scopes: readonly string[]): boolean => scopes.includes('propose');

/** Whether an operation can be a part of a proposal. */
const isWrite = ({ access }: AgentTool): boolean => access === 'write';

export function listingFor(tool: AgentTool, scopes: readonly string[]): AgentTool['listing'] {
  const { listing } = tool;
  if (!mayPropose(scopes) || tool.access === 'deploy') return listing;
  const properties = {
    ...(listing.inputSchema['properties'] as object),
    [PROPOSAL_ID]: ID,
    ...(isWrite(tool) ? { [PROPOSAL_NOTE]: NOTE } : {}),
  };
  return { ...listing, inputSchema: { ...listing.inputSchema, properties } };
}

/** The arguments without what is said of a proposal. For other tokens these names are like any that no tool has. */
export function withoutProposal(given: Given, scopes: readonly string[]): Given {
  if (!mayPropose(scopes)) return given;
  const { [PROPOSAL_ID]: _, [PROPOSAL_NOTE]: _note, ...own } = given;
  return own;
}

export function takeProposal(
  tool: AgentTool,
  given: Given,
  scopes: readonly string[],
): { readonly own: Given; readonly proposal: Proposal } {
  if (!mayPropose(scopes)) return { own: given, proposal: { id: null, note: null } };
  const { [PROPOSAL_ID]: id, [PROPOSAL_NOTE]: note } = given;
  const text = (name: string, value: unknown): string | null => {
    if (value === undefined || value === null || value === '') return null;
    if (typeof value !== 'string') throw invalidField(name, `${name} must be a string.`);
    refuseUnkeepable({ [name]: value });
    return value.trim();
  };
  const named = text(PROPOSAL_ID, id);
  if (named !== null && !ID_FORMAT.test(named)) {
    throw invalidField(PROPOSAL_ID, `${PROPOSAL_ID} must be new or the id of a proposal.`);
  }
  const said = isWrite(tool) ? text(PROPOSAL_NOTE, note) : null;
  if (said !== null && said.length > LONGEST_NOTE) {
    throw invalidField(PROPOSAL_NOTE, `${PROPOSAL_NOTE} must have at most ${LONGEST_NOTE} characters.`);
  }
  return {
    own: withoutProposal(given, scopes),
    proposal: { id: named, note: said },
  };
}
