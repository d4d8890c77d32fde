import type { CallContext } from '#mcp-host/call/context.ts';
import type { CallServices } from '#mcp-host/call/services.ts';
import type { InputRequired } from '#mcp-host/call/confirmation/pending-call.ts';
import { readResource } from '#mcp-host/call/resource-read.ts';
import { callTool } from '#mcp-host/call/tool-call.ts';
import { discoverResult, lifetime } from '#mcp-host/registry/presentation.ts';
import type { Registry } from '#mcp-host/registry/registry.ts';
import { type Skill, skillOf } from '#mcp-host/registry/skill.ts';
import { LIST_METHODS, type ListMethod, type Page, pageAt, type RenderedList } from '#mcp-host/protocol/lists.ts';
import { type Members, RPC, RpcError } from '#mcp-host/protocol/messages.ts';
import { complete, getPrompt } from '#mcp-host/call/prompts.ts';

/** Returns the members of a result. */
export type Handler = (
  params: Members,
  context: CallContext,
  services: CallServices,
) => string | Page | Promise<string | InputRequired>;
type Handlers = Readonly<Record<string, Handler>>;

const list =
  (method: ListMethod): Handler =>
  ({ cursor }, { registry }) => {
    const list = registry.lists[method];
    return (cursor === undefined || cursor === null ? list.pages[0] : pageOf(list, cursor, registry)) ?? '';
  };

function pageOf(list: RenderedList, cursor: unknown, { snapshot_id }: Registry): Page {
  const page = typeof cursor === 'string' ? pageAt(list, cursor, snapshot_id) : null;
  if (page !== null) return page;
  throw new RpcError(RPC.invalid_params, 'The cursor is not valid, or there was a deploy since. Start with the first page.');
}

/** The skill of the registry. Throws without one, as if the methods of the extension did not exist. */
function offeredSkill(registry: Registry): Skill {
  const skill = skillOf(registry);
  if (skill !== null) return skill;
  throw new RpcError(RPC.method_not_found, 'This server offers no skills.');
}

function getSkill({ uri }: Members, { registry }: CallContext): string {
  const skill = offeredSkill(registry);
  if (uri === skill.uri) return `"skill":${JSON.stringify(skill.entry)}`;
  throw new RpcError(RPC.invalid_params, 'There is no such skill; skills/list names the one there is.', {
    data: { uri },
    fault: 'not_found',
  });
}

const COMMON: Handlers = {
  ...Object.fromEntries(LIST_METHODS.map((method) => [method, list(method)])),
  'tools/call': callTool,
  'resources/read': readResource,
  'prompts/get': getPrompt,
  'skills/list': (_, { registry }) => `"skills":[${JSON.stringify(offeredSkill(registry).entry)}]`,
  'skills/get': getSkill,
  'completion/complete': (params, { registry }) => complete(params, registry),
};
const MODERN: Handlers = {
  ...COMMON,
  'server/discover': (_, { registry }, { now, app_views }) => discoverResult(registry, now(), app_views.offered),
};
const LEGACY: Handlers = { ...COMMON, ping: () => '' };

/** The methods of the stateless revision, and those of the revisions with sessions. */
export const modernHandler = (method: string): Handler | undefined =>
  Object.hasOwn(MODERN, method) ? MODERN[method] : undefined;
export const legacyHandler = (method: string): Handler | undefined =>
  Object.hasOwn(LEGACY, method) ? LEGACY[method] : undefined;

/** The first members of every result of the stateless revision; `server/discover` writes its members itself. */
export const modernHead = (method: string, registry: Registry, now: number, meta = ''): string => {
  if (method === 'server/discover') return '';
  const { modern } = registry.pieces;
  // The last member of `modern` is `_meta`.
  return `${meta === '' ? modern : `${modern.slice(0, -1)},${meta}}`}${lifetime(method, registry, now)},`;
};
