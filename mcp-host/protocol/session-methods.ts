import { findResource } from '#mcp-host/call/perform.ts';
import { type Members, RPC, RpcError } from './messages.ts';
import type { Registry } from '#mcp-host/swap/registry.ts';
import { isMcpLogLevel, MCP_LOG_LEVELS } from './log-levels.ts';
import type { Session } from './sessions.ts';

/** Resources that one session or one subscription may follow. */
export const SUBSCRIPTIONS = 200;
export const URI_LENGTH = 4_096;
/** Characters of all URIs that it follows. */
export const FOLLOWED_LENGTH = 50_000;
export const lengthOf = (uris: Iterable<string>): number => [...uris].reduce((sum, uri) => sum + uri.length, 0);

/** Methods that change what a session hears; their results are empty. */
const METHODS: Readonly<Record<string, (params: Members, session: Session, registry: Registry) => void>> = {
  'logging/setLevel'({ level }, session) {
    if (!isMcpLogLevel(level)) throw invalid(`params.level must be one of ${MCP_LOG_LEVELS.join(', ')}.`);
    session.log_level = level;
  },
  'resources/subscribe'({ uri }, session, registry) {
    if (typeof uri !== 'string' || uri.length > URI_LENGTH) {
      throw invalid(`params.uri must be a string of at most ${URI_LENGTH} characters.`);
    }
    if (findResource(registry, uri) === null) {
      throw new RpcError(RPC.resource_not_found_legacy, 'Resource not found.', { data: { uri } });
    }
    if (session.subscribed.size >= SUBSCRIPTIONS && !session.subscribed.has(uri)) {
      throw invalid(`A session can subscribe to ${SUBSCRIPTIONS} resources. Unsubscribe from some first.`);
    }
    if (lengthOf(new Set(session.subscribed).add(uri)) > FOLLOWED_LENGTH) {
      throw invalid(
        `The URIs that a session subscribes to can have ${FOLLOWED_LENGTH} characters in total. Unsubscribe from some first.`,
      );
    }
    session.subscribed.add(uri);
  },
  'resources/unsubscribe'({ uri }, session) {
    if (typeof uri !== 'string') throw invalid('params.uri must be a string.');
    session.subscribed.delete(uri);
  },
};

/** The members of the result, or null when the method is none of a session. */
export function sessionMethod(method: string, params: Members, session: Session | null, registry: Registry): string | null {
  const act = Object.hasOwn(METHODS, method) ? METHODS[method] : undefined;
  if (act === undefined) return null;
  if (session === null) throw new RpcError(RPC.invalid_request, 'The method needs a session. Send initialize first.');
  act(params, session, registry);
  return '';
}

const invalid = (message: string) => new RpcError(RPC.invalid_params, message);
