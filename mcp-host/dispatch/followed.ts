import { findResource } from '#mcp-host/registry/registry.ts';
import type { ListKind, Registry } from '#mcp-host/registry/registry.ts';
import { skillAt } from '#mcp-host/registry/skill.ts';
import { isMembers, RPC, RpcError } from '#mcp-host/protocol/messages.ts';
import type { Session } from '#mcp-host/requests/sessions.ts';

const URI_LENGTH = 4_096;
/** Limits of one session or subscription, and of one caller in total. */
const ONE = { who: 'A session', uris: 200, characters: 50_000 };
const ALL = { who: 'A caller', uris: 10_000, characters: 1_000_000 };

/** The sets of URIs that a caller follows now. */
export type Followed = Iterable<ReadonlySet<string>>;

/** The part of a subscription filter that the host serves. */
export interface Filter {
  readonly kinds: readonly ListKind[];
  readonly uris: ReadonlySet<string>;
  readonly honoured: Readonly<Record<string, unknown>>;
}

const KINDS: Readonly<Record<string, ListKind>> = {
  toolsListChanged: 'tools',
  resourcesListChanged: 'resources',
  promptsListChanged: 'prompts',
};

/** Subscribes a session to the changes of a resource. */
export function follow(uri: unknown, { subscribed }: Session, registry: Registry, followed: Followed): void {
  if (typeof uri !== 'string' || uri.length > URI_LENGTH) {
    throw invalid(`params.uri must be a string of at most ${URI_LENGTH} characters.`);
  }
  refuseUnknown(uri, registry, RPC.resource_not_found_legacy);
  if (subscribed.has(uri)) return;
  const added = new Set([uri]);
  refuseSurplus([subscribed, added], ONE);
  refuseSurplus([...followed, added], ALL);
  subscribed.add(uri);
}

/** Reads the filter of a subscription. */
export function toFilter(value: unknown, registry: Registry, followed: Followed): Filter {
  if (!isMembers(value)) {
    throw invalid('params.notifications must be an object that says which changes to send.');
  }
  const enabled = Object.entries(value).filter(([name, on]) => on === true && Object.hasOwn(KINDS, name));
  const kinds = enabled.flatMap(([name]) => KINDS[name] ?? []);
  const uris = toUris(value['resourceSubscriptions']);
  for (const uri of uris) refuseUnknown(uri, registry, RPC.invalid_params);
  if (uris.size > 0) refuseSurplus([...followed, uris], ALL);
  const resources = uris.size > 0 ? { resourceSubscriptions: [...uris] } : {};
  return { kinds, uris, honoured: { ...Object.fromEntries(enabled.map(([name]) => [name, true])), ...resources } };
}

function toUris(value: unknown = []): ReadonlySet<string> {
  const is_uri = (uri: unknown): uri is string => typeof uri === 'string' && uri.length <= URI_LENGTH;
  if (Array.isArray(value) && value.length <= ONE.uris && value.every(is_uri)) {
    const uris = new Set(value);
    if (lengthOf(uris) <= ONE.characters) return uris;
  }
  const limits = `at most ${ONE.uris} URIs of at most ${URI_LENGTH} characters, ${ONE.characters} together`;
  throw invalid(`params.notifications.resourceSubscriptions must be a list of ${limits}.`);
}

/** Refuses an unknown URI in the same way as `resources/read`. */
function refuseUnknown(uri: string, registry: Registry, code: number): void {
  if (findResource(registry, uri) !== null || skillAt(registry, uri) !== null) return;
  throw new RpcError(code, 'Resource not found.', { data: { uri }, fault: 'not_found' });
}

/** @param followed including the URIs that are added. */
function refuseSurplus(followed: Followed, { who, uris, characters }: typeof ONE): void {
  const sets = [...followed];
  if (sets.reduce((sum, { size }) => sum + size, 0) > uris) {
    throw invalid(`${who} can subscribe to ${uris} resources. Unsubscribe from some first.`);
  }
  if (sets.reduce((sum, set) => sum + lengthOf(set), 0) > characters) {
    throw invalid(
      `The URIs that ${who.toLowerCase()} subscribes to can have ${characters} characters in total. Unsubscribe from some first.`,
    );
  }
}

const lengthOf = (uris: Iterable<string>): number => {
  let sum = 0;
  for (const { length } of uris) sum += length;
  return sum;
};

const invalid = (message: string) => new RpcError(RPC.invalid_params, message);
