import { randomBytes } from 'node:crypto';
import type { Log } from '#core/process/log.ts';
import { type Caller, holderOf } from '#mcp-host/auth/caller.ts';
import type { Dispatch } from '#mcp-host/dispatch/dispatch.ts';
import { WHOLE } from '#core/edge/mcp-endpoint.ts';
import type { Peer } from '#mcp-host/runtime/types.ts';
import { refuse } from '#mcp-host/protocol/replies.ts';
import { replyToFault } from '#mcp-host/dispatch/answer.ts';
import type { Streams } from '#mcp-host/dispatch/streams.ts';
import type { Viewer, Views } from '#mcp-host/registry/views.ts';
import { readMessage } from './body.ts';
import { type Bridge, createBridge, type CurrentView } from './bridge.ts';

/** The transport of the revision 2024-11-05: a stream at `/sse`, and messages posted to the address in its first event. */
export interface Sse {
  /** `GET /sse`. */
  open(caller: Caller, peer: Peer, address: string): Response;
  /** `POST /messages`: answered with 202. The result is sent on the stream of the same caller. */
  post(request: Request, caller: Caller): Promise<Response>;
}

export interface SseOptions {
  readonly dispatch: Dispatch;
  /** What a viewer is served, or why nothing is served. */
  readonly serving: (viewer: Viewer) => ReturnType<CurrentView>;
  readonly views: Views;
  readonly streams: Streams;
  readonly log: Log;
}

interface Reader {
  /** The caller of the last request, with its rights. */
  caller: Caller;
  readonly bridge: Bridge;
}

const PARAMETER = 'session_id';
const NOT_FOUND = 'Session not found. Open /sse again.';

export function createSse({ dispatch, serving, views, streams, log }: SseOptions): Sse {
  const readers = new Map<string, Reader>();
  return {
    open(caller, peer, address) {
      const id = randomBytes(24).toString('base64url');
      const holder = holderOf(caller, () => address);
      const viewer = { rights: caller.rights, endpoint: WHOLE, key: holder };
      const by = { caller, peer, viewer, holder };
      try {
        return streams.carry(`event: endpoint\ndata: /messages?${PARAMETER}=${id}\n\n`, by, ({ send, idle }) => {
          const now = () => readers.get(id)?.caller ?? caller;
          const seen = () => {
            const current = { ...viewer, rights: now().rights };
            const registry = serving(current);
            return 'idle' in registry ? registry : (views.of(registry, current) ?? registry);
          };
          const bridge = createBridge({
            dispatch,
            serving: seen,
            caller: now,
            key: holder,
            address,
            listener: peer.listener,
            send,
            idle,
          });
          readers.set(id, { caller, bridge });
          return {
            is_busy: bridge.is_busy,
            closed() {
              readers.delete(id);
              bridge.close();
            },
          };
        });
      } catch (error) {
        return replyToFault(error, null, log);
      }
    },
    async post(request, caller) {
      const id = new URL(request.url).searchParams.get(PARAMETER) ?? '';
      const reader = readers.get(id);
      // Another caller gets the same answer as for an unknown session.
      if (reader === undefined || reader.caller.owner !== caller.owner) return refuse(404, NOT_FOUND);
      reader.caller = caller;
      const message = await readMessage(request);
      if (message instanceof Response) return message;
      // The stream may have ended while the message arrived, for example with its credential.
      if (readers.get(id) !== reader) return refuse(404, NOT_FOUND);
      reader.bridge.take(message.body).catch((error: unknown) => log.error('message_failed', { error: String(error) }));
      return new Response('Accepted', { status: 202 });
    },
  };
}

/** Methods of the two paths. */
export const SSE_METHODS: Readonly<Record<string, string>> = { '/sse': 'GET', '/messages': 'POST' };
export const wrongMethod = (method: string): Response => refuse(405, `Use ${method}.`, { allow: method });
