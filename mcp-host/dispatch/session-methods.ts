import { follow, type Followed } from './followed.ts';
import { type Members, RPC, RpcError } from '#mcp-host/protocol/messages.ts';
import type { Registry } from '#mcp-host/registry/registry.ts';
import { isMcpLogLevel, MCP_LOG_LEVELS } from '#mcp-host/protocol/messages.ts';
import type { Session } from '#mcp-host/requests/sessions.ts';

/** The state that a session method reads. */
interface Sight {
  readonly registry: Registry;
  /** The URIs that the caller follows in all its sessions and subscriptions. */
  readonly followed: (holder: string) => Followed;
}

/** Methods that change which notifications a session gets; their results are empty. */
const METHODS: Readonly<Record<string, (params: Members, session: Session, sight: Sight) => void>> = {
  'logging/setLevel'({ level }, session) {
    if (!isMcpLogLevel(level)) throw invalid(`params.level must be one of ${MCP_LOG_LEVELS.join(', ')}.`);
    session.log_level = level;
  },
  'resources/subscribe'({ uri }, session, { registry, followed }) {
    follow(uri, session, registry, followed(session.holder));
  },
  'resources/unsubscribe'({ uri }, session) {
    if (typeof uri !== 'string') throw invalid('params.uri must be a string.');
    session.subscribed.delete(uri);
    session.missed_uris.delete(uri);
  },
};

/** The members of the result, or null when it is not a session method. */
export function sessionMethod(method: string, params: Members, session: Session | null, sight: Sight): string | null {
  const act = Object.hasOwn(METHODS, method) ? METHODS[method] : undefined;
  if (act === undefined) return null;
  if (session === null) throw new RpcError(RPC.invalid_request, 'The method needs a session. Send initialize first.');
  act(params, session, sight);
  return '';
}

const invalid = (message: string) => new RpcError(RPC.invalid_params, message);
