import { setTimeout as sleep } from 'node:timers/promises';
import type { Caller } from '#mcp-host/auth/caller.ts';
import { readEvents } from '#mcp-host/protocol/events.ts';
import { type Dispatch, SESSION_HEADER } from '#mcp-host/dispatch/dispatch.ts';
import { type Endpoint, WHOLE } from '#core/edge/mcp-endpoint.ts';
import type { Peer } from '#mcp-host/runtime/types.ts';
import { idOf, refuse } from '#mcp-host/protocol/replies.ts';
import { decodedName } from '#mcp-host/protocol/protocol-version.ts';
import { isMembers, META, type RpcId } from '#mcp-host/protocol/messages.ts';
import type { Registry } from '#mcp-host/registry/registry.ts';

/** The peer's current view, or why nothing is served. */
export type CurrentView = () => Registry | { readonly idle: string };

/** Connects a peer with a single stream of messages in each direction to the dispatcher of HTTP. */
export interface Bridge {
  /** Takes one parsed message of the peer; settles when it is answered, or when its subscription has begun. */
  take(message: unknown): Promise<void>;
  /** Whether there are unanswered messages. */
  readonly is_busy: () => boolean;
  /** Called when the peer has left: cancels its calls and ends its session. */
  close(): void;
}

export interface BridgeOptions {
  readonly dispatch: Dispatch;
  readonly serving: CurrentView;
  readonly caller: () => Caller;
  /** Decides the side of a canary; absent: the credential does. */
  readonly key?: string;
  /** The peer's endpoint; absent: everything. */
  readonly endpoint?: Endpoint;
  /** The peer's address; absent: it is on this machine. */
  readonly address?: string;
  /** Number of the listener that carries the peer; 0: none. */
  readonly listener: number;
  /** Takes the text of one message for the peer. */
  readonly send: (text: string) => void;
  /** Called when all messages are answered. */
  readonly idle?: () => void;
}

const LOCAL_URL = 'http://localhost/mcp';
/** After a stop or a swap of the listener, the stream of a session is reopened after this time. */
const REOPEN_MS = 250;

export function createBridge({
  dispatch,
  serving,
  caller,
  key,
  endpoint = WHOLE,
  address = '',
  listener,
  send,
  idle,
}: BridgeOptions): Bridge {
  const end = new AbortController();
  /** Unanswered messages with their ids. */
  const running = new Map<AbortController, RpcId | null>();
  const peer: Peer = { listener, address: () => address, hold: () => undefined, release: () => undefined };
  let session: string | null = null;

  const from = (method: 'GET' | 'POST' | 'DELETE', headers: Headers, signal?: AbortSignal) => ({
    request: new Request(LOCAL_URL, { method, headers, ...(signal && { signal }) }),
    caller: caller(),
    endpoint,
    address: () => address,
    peer,
    ...(key === undefined ? {} : { key }),
  });
  const exchange = async (method: 'GET' | 'POST', headers: Headers, signal: AbortSignal, body?: unknown) => {
    const registry = serving();
    if ('idle' in registry) {
      const id = idOf(body);
      return id === null ? new Response(null, { status: 503 }) : refuse(503, registry.idle, undefined, { id });
    }
    const context = { ...from(method, headers, signal), registry };
    return method === 'POST' ? dispatch.post(context, body) : dispatch.get(context);
  };

  const pump = async (response: Response, signal: AbortSignal): Promise<void> => {
    if (response.body === null) return;
    const body = response.body.pipeThrough(new TransformStream<Uint8Array, Uint8Array>(), { signal });
    await readEvents(body, (_, data) => send(data)).catch(() => undefined);
  };

  /** Sends changes of lists to a peer with a session, until it leaves. */
  const follow = async (id: string): Promise<void> => {
    while (!end.signal.aborted) {
      const response = await exchange('GET', new Headers({ [SESSION_HEADER]: id }), end.signal);
      if (response.status === 404) return;
      if (isStream(response)) await pump(response, end.signal);
      if (!end.signal.aborted) await sleep(REOPEN_MS);
    }
  };

  /** @returns the stream that continues after the beginning of the answer. */
  const answer = async (message: unknown, signal: AbortSignal): Promise<{ stream: Promise<void> | null }> => {
    const response = await exchange('POST', headersOf(message, session), signal, message);
    const opened = response.headers.get(SESSION_HEADER);
    const stream = isStream(response) ? pump(response, signal) : null;
    const text = stream === null ? await response.text() : '';
    if (text !== '' && !signal.aborted) send(text);
    if (opened !== null) {
      session = opened;
      void follow(opened);
    }
    return { stream };
  };

  return {
    async take(message) {
      if (isMembers(message) && message['method'] === 'notifications/cancelled' && isMembers(message['params'])) {
        const cancelled = message['params']['requestId'];
        for (const [controller, id] of running) if (id !== null && id === cancelled) controller.abort();
      }
      // The peer has left.
      if (end.signal.aborted) return;
      const controller = new AbortController();
      const { signal } = controller;
      running.set(controller, idOf(message));
      const done = (): void => {
        running.delete(controller);
        if (running.size === 0) idle?.();
      };
      const { stream } = await answer(message, signal).catch((error: unknown) => {
        done();
        throw error;
      });
      if (stream === null) return done();
      const ended = stream.finally(done);
      // A subscription continues; every other stream ends with the answer.
      if (!isMembers(message) || message['method'] !== 'subscriptions/listen') await ended;
    },
    is_busy: () => running.size > 0,
    close() {
      // The session ends even if nothing is served.
      if (session !== null) dispatch.delete(from('DELETE', new Headers({ [SESSION_HEADER]: session })));
      end.abort();
      for (const controller of running.keys()) controller.abort();
    },
  };
}

const isStream = (response: Response): boolean => response.headers.get('content-type') === 'text/event-stream';

/** The headers that the message would have in an HTTP request. */
function headersOf(message: unknown, session: string | null): Headers {
  const headers = new Headers({ accept: 'application/json, text/event-stream' });
  if (session !== null) headers.set(SESSION_HEADER, session);
  const params = isMembers(message) && isMembers(message['params']) ? message['params'] : {};
  const meta = isMembers(params['_meta']) ? params['_meta'] : {};
  const version = meta[META.version];
  const method = isMembers(message) ? message['method'] : undefined;
  // Without these members, the dispatcher refuses the message with the right error.
  if (typeof method !== 'string' || typeof version !== 'string') return headers;
  headers.set('mcp-protocol-version', encoded(version));
  headers.set('mcp-method', encoded(method));
  const name = decodedName(method, params);
  if (name !== null) headers.set('mcp-name', encoded(name));
  return headers;
}

/** Encodes a text that is not plain ASCII, as 2026-07-28 does (Value Encoding). */
const encoded = (text: string): string =>
  /^[!-~]([ -~]*[!-~])?$/.test(text) && !text.startsWith('=?') ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`;
