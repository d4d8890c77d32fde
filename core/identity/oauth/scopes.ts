import type { Platform } from '#core/platform/platform.ts';
import { type WithSnapshots, contentOf } from '#core/versions/stored-snapshots.ts';
import type { Scope, Operation } from '#core/contract/operation.ts';
import type { OauthScope } from '#core/contract/identity/oauth.ts';
import { EVERYTHING } from '#core/edge/identity.ts';
import { operations } from '#core/contract/index.ts';
import { activeSnapshot } from '#core/versions/deployment.ts';
import { leavesOf } from '#snapshots/format/order.ts';
import { holdsOf, isOpenTo, ofTool } from '#snapshots/format/toolsets.ts';
import type { Person } from './people.ts';
import type { Resource } from './resources.ts';

/** Asks to stay signed in; refresh tokens are issued either way. */
export const OFFLINE = 'offline_access';
/** What clients send to whatever server they meet: it asks for nothing in particular. */
const COMMON_SCOPES: ReadonlySet<string> = new Set([EVERYTHING, OFFLINE, 'openid', 'profile', 'email']);
const SHOWN_TOOLS = 8;

const AGENT_SCOPES: readonly { readonly name: Scope; readonly title: string; readonly description: string }[] = [
  { name: 'read', title: 'Read', description: 'Read connections, definitions, versions, history and metrics.' },
  {
    name: 'write',
    title: 'Write',
    description: 'Create, change, test and delete connections, tools, resources and prompts, and run preview queries.',
  },
  { name: 'deploy', title: 'Deploy', description: 'Deploy, stop and restore versions of the MCP server.' },
  {
    name: 'propose',
    title: 'Propose',
    description: 'Propose changes and try them. Without Write, every change waits until a person approves it.',
  },
];

/**
 * Scopes that a person can grant for a resource: those of the role for the agent endpoint, else the deployed toolsets that are open to
 * them. While there is no toolset there is one scope, for everything, which no token names.
 */
export async function scopesFor(app: Platform & WithSnapshots, resource: Resource, person: Person | null): Promise<OauthScope[]> {
  if (resource.kind === 'agent') {
    return AGENT_SCOPES.filter(({ name }) => person === null || person.scopes.includes(name)).map(agentScope);
  }
  const leaves = (await activeSnapshot(app))?.tree.leaves ?? [];
  const [named, of_tools] = [leavesOf(leaves, 'toolset'), leavesOf(leaves, 'tool')];
  if (named.length === 0) return [everything(of_tools.map(({ name }) => name))];
  const { toolsets, tools } = await contentOf(app, [...of_tools, ...named]);
  // Whether there is one of this name that is open to others, nobody learns.
  const only = /^\/mcp\/(?!readonly$)([a-z][a-z0-9-]*)$/.exec(resource.path)?.[1];
  return toolsets
    .filter(({ name, groups }) => (only === undefined || name === only) && isOpenTo({ groups }, person?.groups ?? []))
    .map((toolset) => {
      const holds = holdsOf(toolset);
      const { name, title, description } = toolset;
      const names = tools.filter((tool) => holds(ofTool(tool))).map((tool) => tool.name);
      return { name, title: title ?? name, description: description ?? '', ...toolsOf(names), optional: true };
    });
}

const toolsOf = (names: readonly string[]) => ({ tools: names.slice(0, SHOWN_TOOLS), tools_total: names.length });

const everything = (names: readonly string[]): OauthScope => ({
  name: EVERYTHING,
  title: 'All tools',
  description: 'Call every tool and read every resource and prompt that is deployed here.',
  ...toolsOf(names),
  optional: false,
});

function agentScope({ name, title, description }: (typeof AGENT_SCOPES)[number]): OauthScope {
  const tools = (Object.values(operations) as Operation[]).flatMap(({ access, agent }) =>
    access === (name === 'propose' ? 'write' : name) && agent !== undefined ? [agent] : [],
  );
  return { name, title, description, ...toolsOf(tools), optional: true };
}

/** What the metadata lists: scopes of every resource. */
export const METADATA_SCOPES: readonly string[] = [EVERYTHING, ...AGENT_SCOPES.map(({ name }) => name), OFFLINE];

/**
 * What a client asked for by name. Clients that send all that the metadata lists, as several do for every resource, or scopes that are
 * common everywhere, did not choose: a toolset may have one of these names.
 */
export function namedScopes(asked: readonly string[], { kind }: Resource): string[] {
  const agent: readonly string[] = AGENT_SCOPES.map(({ name }) => name);
  // `propose` came later; clients may remember the list without it.
  const is_list = kind === 'mcp' && agent.every((name) => name === 'propose' || asked.includes(name));
  return asked.filter((name) => !COMMON_SCOPES.has(name) && !(is_list && agent.includes(name)));
}

/** The scopes of a request or a grant as a list; what no scope may look like (RFC 6749 section 3.3) is dropped. */
export const toScopes = (text: string | null): string[] =>
  [...new Set((text ?? '').split(' '))].filter((name) => /^[\x21\x23-\x5b\x5d-\x7e]{1,64}$/.test(name)).slice(0, 500);
