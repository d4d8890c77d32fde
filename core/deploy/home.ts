import { and, asc, desc, eq, inArray, ne } from 'drizzle-orm';
import { type Home, MOST_ADMINISTRATORS } from '#core/contract/home.ts';
import type { Context, Handlers } from '#core/context/context.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import { canSignIn, currentPerson, type PersonRow } from '#core/identity/account.ts';
import { signInRefusal } from '#core/identity/oauth/resources.ts';
import { listingInOrder } from '#core/query/arguments.ts';
import { issuerOf, mcpUrl } from '#core/settings/public-urls.ts';
import type { WithSources } from '#core/sources/source-pool.ts';
import { activeSnapshot, readDeployment } from '#core/versions/deployment.ts';
import { contentOf, type StoredSnapshot, type WithSnapshots } from '#core/versions/stored-snapshots.ts';
import type { FrozenServer } from '#snapshots/format/format.ts';
import { leavesOf } from '#snapshots/format/order.ts';
import { heldByAny, ofPrompt, ofResource, ofTool, toolsetsOfPerson } from '#snapshots/format/toolsets.ts';
import type { WithDeployLock } from './deploy-locks.ts';
import { snapshotToServe } from './exposure.ts';
import { statusOf } from './status.ts';

type Lists = Pick<Home, 'toolsets' | 'tools' | 'resources' | 'prompts'>;

/** Which credential determines the list of an MCP server over HTTP, by auth_type. */
const LISTED_BY: Readonly<Record<FrozenServer['auth_type'], Home['listed_by']>> = {
  none: 'everyone',
  oauth: 'person',
  bearer: 'token',
  oauth_credentials: 'token',
  oauth_introspection: 'token',
  jwt: 'token',
};
const NOTHING: Lists = { toolsets: [], tools: [], resources: [], prompts: [] };
/** The number of newest history entries to read. They include the invitation and the creation of a person. */
const ENTRIES = 200;

type HomeHandlers = Pick<Handlers<WithSources & WithDeployLock & WithHosts & WithSnapshots>, `home.${'get' | 'administrators'}`>;

export const homeHandlers: HomeHandlers = {
  'home.get': async (context) => {
    const { app } = context;
    const person = await currentPerson(context);
    const [state, active, { snapshot, refused }, issuer] = await Promise.all([
      readDeployment(app),
      activeSnapshot(app),
      snapshotToServe(app),
      issuerOf(app),
      app.hosts.refresh(),
    ]);
    const server = active?.server ?? null;
    const listed_by = server === null ? 'person' : server.transport === 'stdio' ? 'machine' : LISTED_BY[server.auth_type];
    const { invited, contact } = await inviterAndContact(context, person);
    return {
      status: await statusOf(app, state, refused),
      server: server && {
        server_name: server.server_name,
        transport: server.transport,
        auth_type: server.auth_type,
        mcp_url: await mcpUrl(app, server.port),
      },
      sign_in_problem: signInRefusal(issuer),
      listed_by,
      ...(snapshot === null ? NOTHING : await listsFor(app, snapshot, listed_by, person.groups)),
      invited,
      contact,
    };
  },
  'home.administrators': async (context) => {
    const { contact, administrators } = await inviterAndContact(context, await currentPerson(context));
    const others = administrators.filter((name) => name !== contact);
    return { names: [...(contact === null ? [] : [contact]), ...others].slice(0, MOST_ADMINISTRATORS) };
  },
};

/**
 * The definitions that hosts list for this person at the address without a toolset. Empty when only a token decides about them.
 */
async function listsFor(
  app: WithSources & WithSnapshots,
  { tree: { leaves } }: StoredSnapshot,
  listed_by: Home['listed_by'],
  groups: readonly string[],
): Promise<Lists> {
  if (listed_by === 'token' || listed_by === 'machine') return NOTHING;
  const listed = (['tool', 'resource', 'prompt', 'toolset'] as const).flatMap((kind) => leavesOf(leaves, kind));
  const content = await contentOf(app, listed);
  const toolsets = listed_by === 'person' ? toolsetsOfPerson(content.toolsets, groups) : null;
  const holds = heldByAny(toolsets);
  return {
    toolsets: (toolsets ?? []).map(({ name, title, description }) => ({ name, title, description })),
    tools: content.tools
      .filter((tool) => holds(ofTool(tool)))
      .map((tool) => ({
        ...textsOf(tool),
        read_only: tool.mode !== 'write',
        input_schema: { ...(listingInOrder(tool)['inputSchema'] as object) },
      })),
    resources: content.resources
      .filter((resource) => holds(ofResource(resource)))
      .map((resource) => ({ ...textsOf(resource), uri: resource.uri_template, mime_type: resource.mime_type })),
    prompts: content.prompts
      .filter((prompt) => holds(ofPrompt(prompt)))
      .map((prompt) => ({ ...textsOf(prompt), arguments: argumentsOf(prompt.listing) })),
  };
}

interface Listed {
  readonly name: string;
  readonly listing: Readonly<Record<string, unknown>>;
}

const textsOf = ({ name, listing: { title, description } }: Listed) => ({
  name,
  title: typeof title === 'string' ? title : null,
  description: typeof description === 'string' ? description : '',
});

type PromptArgument = Home['prompts'][number]['arguments'][number];

const argumentsOf = ({ arguments: listed }: Listed['listing']): PromptArgument[] =>
  (Array.isArray(listed) ? (listed as Partial<PromptArgument>[]) : []).map(({ name, description, required }) => ({
    name: String(name),
    description: description ?? '',
    required: required === true,
  }));

const shownName = ({ display_name, username }: Pick<PersonRow, 'display_name' | 'username'>): string => display_name ?? username;

/** The administrator who invited a person, and the people to contact for access. */
async function inviterAndContact(
  { app }: Context,
  person: PersonRow,
): Promise<Pick<Home, 'invited' | 'contact'> & { readonly administrators: readonly string[] }> {
  const { history, people } = app.store.tables;
  const entries = await app.store.db
    .select({ actor: history.actor, before: history.before, after: history.after, created_at: history.created_at })
    .from(history)
    .where(and(eq(history.entity_id, person.id), eq(history.entity_type, 'admin')))
    .orderBy(desc(history.id))
    .limit(ENTRIES);
  const by_others = entries.filter(({ actor }) => actor.type === 'admin' && actor.id !== person.id);
  const invitation =
    by_others.find(({ before, after }) => before !== null && Object.keys(after ?? {}).join() === 'invite_expires_at') ??
    by_others.find(({ before }) => before === null);
  const administrators = await app.store.db
    .select()
    .from(people)
    .where(and(inArray(people.role, ['admin', 'owner']), ne(people.id, person.id)))
    .orderBy(asc(people.created_at), asc(people.id));
  const inviter = administrators.find(({ id }) => id === invitation?.actor.id);
  const reachable = administrators.filter((one) => one.enabled && canSignIn(one));
  const contact = reachable.find((one) => one === inviter) ?? reachable.find(({ role }) => role === 'owner');
  return {
    invited:
      invitation === undefined ? null : { by: inviter ? shownName(inviter) : invitation.actor.name, at: invitation.created_at },
    contact: contact === undefined ? null : shownName(contact),
    administrators: reachable.map(shownName),
  };
}
