import type { Log } from '#core/log.ts';
import { Stop } from '#core/sources/stop.ts';
import { createTimeouts } from '#core/sources/timeouts.ts';
import type { Caller } from './auth/scheme.ts';
import type { ResultCache } from './cache.ts';
import { CallerGone, type CallContext, callTool, readResource } from './call.ts';
import { type Era, eraOf, clientName } from './era.ts';
import { LIST_MEMBER, type ListMethod, pageAt } from './lists.ts';
import { complete, getPrompt } from './prompt.ts';
import {
  BATCH_VERSIONS,
  errorText,
  HEADERLESS_VERSION,
  LEGACY_VERSIONS,
  type Members,
  resultText,
  RPC,
  RpcError,
  type RpcId,
  type RpcMessage,
  toMessage,
} from './protocol.ts';
import { discovery, greeting, lifetime, type Registry } from './registry.ts';
import { wishesOf } from './report.ts';
import { sessionMethod } from './session-methods.ts';
import type { Session, Sessions } from './sessions.ts';
import type { Sources } from './sources.ts';
import type { Streams } from './streams.ts';
import { tell, type Told } from './tell.ts';
import type { Usage } from './usage.ts';
import type { RateLimits } from './rate-limit.ts';
import { createWatch, type Observe } from './watch.ts';

export interface DispatchOptions {
  readonly sources: Sources;
  readonly sessions: Sessions;
  readonly streams: Streams;
  readonly usage: Usage;
  readonly cache: ResultCache;
  readonly limits: RateLimits | null;
  readonly observe: Observe;
  readonly log: Log;
  readonly now: () => number;
  /** Calls that run now, to be aborted when the host must end. */
  readonly running: Set<Pick<Stop, 'abort'>>;
}

/** One authorised HTTP exchange. */
export interface Exchange {
  readonly request: Request;
  readonly registry: Registry;
  readonly caller: Caller;
  /** Of the peer, read when it is wanted. */
  readonly address: () => string;
  readonly listener: number;
  /** Is called before a stream that answers ends. */
  readonly ending?: () => void;
}

export interface Dispatch {
  /** @param body parsed JSON of a POST. */
  post(exchange: Exchange, body: unknown): Promise<Response>;
  /** The event stream of a legacy session. */
  get(exchange: Exchange): Response;
  /** Ends a legacy session. */
  delete(exchange: Exchange): Response;
}

const SESSION = 'Mcp-Session-Id';
const BATCH = 50;

type Handler = (params: Members, context: CallContext) => string | Promise<string>;
const list =
  (method: ListMethod): Handler =>
  ({ cursor }, { registry }) => {
    const page = cursor === undefined ? registry.lists[method].pages[0] : pageOf(registry, method, cursor);
    return page ?? '';
  };
const LISTS = Object.fromEntries((Object.keys(LIST_MEMBER) as ListMethod[]).map((method) => [method, list(method)]));
const BOTH: Readonly<Record<string, Handler>> = {
  ...LISTS,
  'tools/call': callTool,
  'resources/read': readResource,
  'prompts/get': getPrompt,
  'completion/complete': (params, { registry }) => complete(params, registry),
};
const MODERN: Readonly<Record<string, Handler>> = {
  ...BOTH,
  'server/discover': (_, { registry, now }) => discovery(registry, now()),
};
const LEGACY: Readonly<Record<string, Handler>> = { ...BOTH, ping: () => '' };

/** What calls need of one exchange, whatever the protocol. */
interface Ask extends Partial<Told> {
  readonly exchange: Exchange;
  readonly era: Era;
  readonly session: Session | null;
}

export function createDispatch(options: DispatchOptions): Dispatch {
  const { sessions, streams, running, now } = options;
  const timeouts = createTimeouts();

  const call = async (message: RpcMessage, handler: Handler, { exchange, era, session, report, left }: Ask) => {
    const watch = createWatch(message, exchange, era, session);
    const stop = new Stop();
    const onLeave = () => stop.abort();
    const hearing = timeouts.add(HEAR_MS, () => hearLeaving(exchange.request, onLeave));
    left?.addEventListener('abort', onLeave);
    running.add(stop);
    if (session !== null && message.id !== undefined) session.running.set(stop, message.id);
    try {
      const client = era.modern ? era.client : (session?.client ?? '');
      const { registry, caller } = exchange;
      const { token_prefix } = caller;
      const context = { registry, signal: stop, modern: era.modern, client, token_prefix, watch, report: report ?? null };
      return await handler(message.params, { ...options, ...context });
    } catch (error) {
      watch.error = error;
      throw error;
    } finally {
      options.observe(watch);
      hearing.clear();
      running.delete(stop);
      session?.running.delete(stop);
    }
  };

  const modern = async (message: RpcMessage & { id: RpcId }, exchange: Exchange, era: Era): Promise<Response> => {
    const { method, params, id } = message;
    const { pieces } = exchange.registry;
    if (method === 'subscriptions/listen') return streams.listen(id, params, pieces.server_info, exchange);
    const handler = Object.hasOwn(MODERN, method) ? MODERN[method] : undefined;
    if (handler === undefined) throw unknownMethod(404);
    const answer = async (told: Partial<Told>) => {
      const members = await call(message, handler, { exchange, era, session: null, ...told });
      if (method === 'server/discover') return resultText(id, members);
      return resultText(id, `${pieces.modern}${lifetime(method, exchange.registry, now())},${members}`);
    };
    const wishes = wishesOf(method, params, exchange.request.headers, null);
    if (wishes === null) return reply(await answer({}));
    return tell(wishes, calledName(params), (told) => answer(told).catch(toText(id)), exchange.ending);
  };

  /** A response text in place of the error that a call ended with. */
  const toText = (id: RpcId) => (error: unknown) =>
    error instanceof CallerGone ? null : errorText(id, toRpcError(error, options.log));

  const initialize = ({ id, params }: RpcMessage & { id: RpcId }, exchange: Exchange): Response => {
    const asked = params['protocolVersion'];
    const version = LEGACY_VERSIONS.find((known) => known === asked) ?? LEGACY_VERSIONS[0] ?? '';
    const session = sessions.open(exchange.caller.owner, version, clientName(params['clientInfo']));
    if (session === null) throw new RpcError(RPC.server, 'Too many sessions are open. Try again later.', { http_status: 503 });
    return reply(resultText(id, greeting(exchange.registry, version)), 200, { [SESSION]: session.id });
  };

  /** The text of a legacy response; null when there is none to give. */
  const legacy = async (message: RpcMessage, ask: Ask): Promise<string | null> => {
    const { id, method, params } = message;
    const { session } = ask;
    if (id === undefined) {
      if (method === 'notifications/cancelled') {
        for (const [controller, running] of session?.running ?? []) if (running === params['requestId']) controller.abort();
      }
      return null;
    }
    try {
      const handler = Object.hasOwn(LEGACY, method) ? LEGACY[method] : undefined;
      const members =
        handler === undefined ? sessionMethod(method, params, session, ask.exchange.registry) : await call(message, handler, ask);
      if (members === null) throw unknownMethod(200);
      return resultText(id, members);
    } catch (error) {
      return toText(id)(error);
    }
  };

  const batch = async (body: readonly unknown[], exchange: Exchange): Promise<Response> => {
    const session = sessionOf(exchange, sessions);
    const version = session?.version ?? exchange.request.headers.get('mcp-protocol-version') ?? HEADERLESS_VERSION;
    if (!BATCH_VERSIONS.has(version) || body.length === 0 || body.length > BATCH) {
      throw new RpcError(RPC.invalid_request, 'Send one message a request: batches are not part of this protocol version.', {
        http_status: 400,
      });
    }
    const era: Era = { modern: false, version };
    const answers = await Promise.all(
      body.map(async (item) => {
        try {
          const message = toMessage(item);
          return message === null ? null : await legacy(message, { exchange, era, session });
        } catch (error) {
          // The rest of the batch runs, so the rest of the answers is given.
          return errorText(idOf(item), toRpcError(error, options.log));
        }
      }),
    );
    const texts = answers.filter((text) => text !== null);
    return texts.length === 0 ? accepted() : reply(`[${texts.join(',')}]`);
  };

  const one = async (message: RpcMessage, exchange: Exchange): Promise<Response> => {
    const era = eraOf(message, exchange.request.headers);
    if (era.modern) return hasId(message) ? modern(message, exchange, era) : accepted();
    if (hasId(message) && message.method === 'initialize') return initialize(message, exchange);
    const session = sessionOf(exchange, sessions);
    const { headers } = exchange.request;
    const wishes = hasId(message) ? wishesOf(message.method, message.params, headers, session?.log_level ?? null) : null;
    if (wishes !== null) {
      return tell(
        wishes,
        calledName(message.params),
        (told) => legacy(message, { exchange, era, session, ...told }),
        exchange.ending,
      );
    }
    const text = await legacy(message, { exchange, era, session });
    return text === null ? accepted() : reply(text);
  };

  return {
    async post(exchange, body) {
      try {
        if (Array.isArray(body)) return await batch(body, exchange);
        const message = toMessage(body);
        return message === null ? accepted() : await one(message, exchange);
      } catch (error) {
        if (error instanceof CallerGone) return accepted();
        const rpc = toRpcError(error, options.log);
        return reply(errorText(idOf(body), rpc), rpc.http_status);
      }
    },
    get(exchange) {
      try {
        const session = sessionOf(exchange, sessions);
        if (session === null) return notAllowed();
        return streams.attach(session, exchange.listener);
      } catch (error) {
        const rpc = toRpcError(error, options.log);
        return reply(errorText(null, rpc), rpc.http_status);
      }
    },
    delete(exchange) {
      try {
        const session = sessionOf(exchange, sessions);
        if (session === null) return notAllowed();
        sessions.end(session);
        streams.detach(session);
        return new Response(null, { status: 204 });
      } catch (error) {
        const rpc = toRpcError(error, options.log);
        return reply(errorText(null, rpc), rpc.http_status);
      }
    },
  };
}

/** The session that the request names; null when it names none. An unknown one is 404, so that the client initialises anew. */
function sessionOf({ request, caller }: Exchange, sessions: Sessions): Session | null {
  const id = request.headers.get(SESSION);
  if (id === null) return null;
  const session = sessions.find(id, caller.owner);
  if (session === null)
    throw new RpcError(RPC.session_not_found, 'Session not found. Send initialize again.', { http_status: 404 });
  return session;
}

function pageOf(registry: Registry, method: ListMethod, cursor: unknown): string {
  const page = typeof cursor === 'string' ? pageAt(registry.lists[method], cursor, registry.edition) : null;
  if (page !== null) return page;
  throw new RpcError(RPC.invalid_params, 'The cursor is not valid, or the server was deployed since. Begin with the first page.');
}

/** Only a call that runs for so long asks to hear when its caller leaves: the signal of a request costs more than a microsecond. */
const HEAR_MS = 25;

function hearLeaving({ signal }: Request, onLeave: () => void): void {
  if (signal.aborted) onLeave();
  else signal.addEventListener('abort', onLeave, { once: true });
}

const JSON_HEADERS = { 'content-type': 'application/json' };
const JSON_OK = { status: 200, headers: JSON_HEADERS };
/** An answer of the MCP endpoint. */
export const reply = (text: string, status = 200, headers?: Readonly<Record<string, string>>): Response =>
  new Response(text, status === 200 && headers === undefined ? JSON_OK : { status, headers: { ...JSON_HEADERS, ...headers } });

const accepted = () => new Response(null, { status: 202 });
const notAllowed = () =>
  reply(
    errorText(null, new RpcError(RPC.server, 'GET and DELETE need the Mcp-Session-Id of a session. Send messages with POST.')),
    405,
    { allow: 'POST' },
  );
const unknownMethod = (http_status: number) =>
  new RpcError(RPC.method_not_found, 'This server does not have the method.', { http_status });
const calledName = ({ name, uri }: Members): string => (typeof name === 'string' ? name : typeof uri === 'string' ? uri : '');
const hasId = (message: RpcMessage): message is RpcMessage & { id: RpcId } => message.id !== undefined;

/** The id of a request, to answer it when nothing else of it was read. */
export function idOf(body: unknown): RpcId | null {
  const id = typeof body === 'object' && body !== null && 'id' in body ? body.id : null;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}

function toRpcError(error: unknown, log: Log): RpcError {
  if (error instanceof RpcError) return error;
  log.error('request_failed', { error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  return new RpcError(RPC.internal, 'The server failed. Its log says why.', { http_status: 500 });
}
