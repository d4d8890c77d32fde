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

/** Requests refresh tokens, which are issued either way. */
const OFFLINE = 'offline_access';
/** Clients send these scopes to every server, so they express no choice. */
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
 * Scopes that a person can grant for a resource. For the agent endpoint, those of the person's role; for others, the deployed
 * toolsets that are open to the person. If there are no toolsets, one scope covers everything, and no token contains its name.
 */
export async function scopesFor(app: Platform & WithSnapshots, resource: Resource, person: Person | null): Promise<OauthScope[]> {
  if (resource.kind === 'agent') {
    return AGENT_SCOPES.filter(({ name }) => person === null || person.scopes.includes(name)).map(agentScope);
  }
  const leaves = (await activeSnapshot(app))?.tree.leaves ?? [];
  const [named, of_tools] = [leavesOf(leaves, 'toolset'), leavesOf(leaves, 'tool')];
  if (named.length === 0) return [everything(of_tools.map(({ name }) => name))];
  const { toolsets, tools } = await contentOf(app, [...of_tools, ...named]);
  // The response must not reveal whether a toolset with this name exists for others.
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

/** The scopes in the metadata, of all resources. */
export const METADATA_SCOPES: readonly string[] = [EVERYTHING, ...AGENT_SCOPES.map(({ name }) => name), OFFLINE];

/**
 * The scopes that a client chose by name. Some clients send everything in the metadata, or common scopes, to every resource. That
 * is no choice, and a toolset may have one of these names.
 */
export function namedScopes(requested: readonly string[], { kind }: Resource): string[] {
  const agent: readonly string[] = AGENT_SCOPES.map(({ name }) => name);
  // `propose` was added later. Clients may have cached the list without it.
  const is_list = kind === 'mcp' && agent.every((name) => name === 'propose' || requested.includes(name));
  return requested.filter((name) => !COMMON_SCOPES.has(name) && !(is_list && agent.includes(name)));
}

/** The scopes of a request or a grant as a list, without invalid names (RFC 6749 section 3.3). */
export const toScopes = (text: string | null): string[] =>
  [...new Set((text ?? '').split(' '))].filter((name) => /^[\x21\x23-\x5b\x5d-\x7e]{1,64}$/.test(name)).slice(0, 500);
