import { randomBytes } from 'node:crypto';
import type { Log } from '#core/log.ts';
import type { Caller } from '../auth/scheme.ts';
import { type Dispatch, type Peer, reply } from '#mcp-host/protocol/dispatch.ts';
import { errorText, RPC, RpcError } from '#mcp-host/protocol/messages.ts';
import { callerKey } from '#mcp-host/limits/rate-limit.ts';
import type { Streams } from '#mcp-host/protocol/streams.ts';
import { readMessage } from './body.ts';
import { type Bridge, createBridge, type Serving } from './bridge.ts';

/** The transport of the revision 2024-11-05: a stream at `/sse`, messages posted to the address that it names first. */
export interface Sse {
  /** `GET /sse`. */
  open(caller: Caller, peer: Peer, address: string): Response;
  /** `POST /messages`: answered with 202, the result comes over the stream of the same caller. */
  post(request: Request, caller: Caller): Promise<Response>;
}

export interface SseOptions {
  readonly dispatch: Dispatch;
  readonly serving: Serving;
  readonly streams: Streams;
  readonly log: Log;
}

interface Reader {
  readonly owner: string;
  readonly bridge: Bridge;
}

const PARAMETER = 'session_id';
const refused = (status: number, message: string, headers: Record<string, string> = {}): Response =>
  reply(errorText(null, new RpcError(RPC.server, message)), status, headers);

export function createSse({ dispatch, serving, streams, log }: SseOptions): Sse {
  const readers = new Map<string, Reader>();
  return {
    open(caller, peer, address) {
      const id = randomBytes(24).toString('base64url');
      const holder = callerKey(caller.owner, () => address);
      try {
        return streams.carry(`event: endpoint\ndata: /messages?${PARAMETER}=${id}\n\n`, { caller, peer, holder }, (send) => {
          const bridge = createBridge({ dispatch, serving, caller, address, listener: peer.listener, send });
          readers.set(id, { owner: caller.owner, bridge });
          return () => {
            readers.delete(id);
            bridge.close();
          };
        });
      } catch (error) {
        if (error instanceof RpcError) return reply(errorText(null, error), error.http_status);
        throw error;
      }
    },
    async post(request, caller) {
      const reader = readers.get(new URL(request.url).searchParams.get(PARAMETER) ?? '');
      // Another caller learns no more than that there is nothing.
      if (reader === undefined || reader.owner !== caller.owner) return refused(404, 'Session not found. Open /sse again.');
      const message = await readMessage(request);
      if (message instanceof Response) return message;
      reader.bridge.take(message.body).catch((error: unknown) => log.error('message_failed', { error: String(error) }));
      return new Response('Accepted', { status: 202 });
    },
  };
}

/** Methods of the two paths. */
export const SSE_METHODS: Readonly<Record<string, string>> = { '/sse': 'GET', '/messages': 'POST' };
export const wrongMethod = (method: string): Response => refused(405, `Use ${method}.`, { allow: method });
