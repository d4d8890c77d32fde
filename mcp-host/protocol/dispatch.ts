import type { Log } from '#core/log.ts';
import { Stop } from '#core/engines/shared/stop.ts';
import type { Caller } from '#mcp-host/auth/scheme.ts';
import { bodyOf } from '#mcp-host/transports/large-body.ts';
import type { ResultCache } from '#mcp-host/call/cache.ts';
import { CallerGone, type CallContext, callTool, readResource } from '#mcp-host/call/perform.ts';
import { type Era, eraOf, clientName } from './protocol-version.ts';
import { LIST_MEMBER, type ListMethod, type Page, pageAt, type Whole } from './lists.ts';
import { complete, getPrompt } from './prompt.ts';
import {
  BATCH_VERSIONS,
  errorText,
  HEADERLESS_VERSION,
  LEGACY_VERSIONS,
  type Members,
  RESULT_TAIL,
  resultHead,
  resultText,
  RPC,
  RpcError,
  type RpcId,
  type RpcMessage,
  toMessage,
} from './messages.ts';
import { discovery, greeting, lifetime, type Registry } from '#mcp-host/swap/registry.ts';
import { wishesOf } from '#mcp-host/observe/report.ts';
import { sessionMethod } from './session-methods.ts';
import type { Session, Sessions } from './sessions.ts';
import type { Sources } from '#mcp-host/swap/sources.ts';
import type { Streams } from './streams.ts';
import { tell, type Told } from './progress.ts';
import type { Usage } from '#mcp-host/observe/usage.ts';
import { callerKey, type RateLimits } from '#mcp-host/limits/rate-limit.ts';
import { createWatch, type Observe, type Watch } from '#mcp-host/call/request-record.ts';

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
  /** Of the caller, read when it is wanted. */
  readonly address: () => string;
  readonly peer: Peer;
  /** For the log; absent on standard input. */
  readonly request_id?: string;
  /** Whether the answer may come as gzip; absent: it may not. */
  readonly accepts_gzip?: () => boolean;
}

/** The other end of the connection that a request came over. */
export interface Peer {
  /** Number of the listener that took it; 0: none. */
  readonly listener: number;
  /** As the socket knows it. */
  address(): string;
  /** From now on it may wait in silence. */
  hold(): void;
  /** Once for every hold: its connection may idle out again. */
  release(): void;
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

/** The members of a result. */
type Handler = (params: Members, context: CallContext) => string | Page | Promise<string>;
/** A JSON-RPC response, as text or ready to be sent; null when there is none to give. */
type Answer = string | Whole | null;
const list =
  (method: ListMethod): Handler =>
  ({ cursor }, { registry }) => {
    return (cursor === undefined ? registry.lists[method].pages[0] : pageOf(registry, method, cursor)) ?? '';
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
  const { sources, sessions, streams, usage, cache, limits, observe, log, running, now } = options;

  /** Throws for a caller of the stateless revision, whose reply has the status of its error. */
  const call = async (message: RpcMessage & { id: RpcId }, handler: Handler, ask: Ask): Promise<Answer> => {
    const { exchange, era, session, report = null, left } = ask;
    const { registry, caller } = exchange;
    const watch = createWatch(message, exchange, era, session);
    const signal = new Call(watch);
    running.add(signal);
    if (!is_hearing) hearSoon();
    left?.addEventListener('abort', () => signal.abort());
    session?.running.set(signal, message.id);
    try {
      const { modern } = era;
      const client = era.modern ? era.client : (session?.client ?? '');
      const { token_prefix } = caller;
      const given = { registry, sources, usage, cache, log, now, signal, modern, client, token_prefix, limits, watch, report };
      const members = handler(message.params, given);
      const head = `${resultHead(message.id)}${modern ? modernHead(message.method, registry, now()) : ''}`;
      return within(head, members instanceof Promise ? await members : members);
    } catch (error) {
      watch.error = error;
      if (era.modern) throw error;
      return toText(message.id, error);
    } finally {
      observe(watch);
      signal.end();
      running.delete(signal);
      session?.running.delete(signal);
    }
  };
  /** One timer for all: it looks through the calls that run, as long as any does. */
  let is_hearing = false;
  const hearSoon = () => {
    is_hearing = true;
    setTimeout(hear, HEAR_MS).unref();
  };
  const hear = () => {
    is_hearing = false;
    const begun = performance.now() - HEAR_MS;
    // In the order of their beginning.
    for (const signal of running) {
      if (!(signal instanceof Call) || signal.watch.started > begun) break;
      signal.hear();
    }
    if (running.size > 0) hearSoon();
  };

  const modern = (message: RpcMessage & { id: RpcId }, exchange: Exchange, era: Era) => {
    const { method, params, id } = message;
    if (method === 'subscriptions/listen')
      return streams.listen(id, params, exchange.registry.pieces.server_info, {
        ...exchange,
        holder: callerKey(exchange.caller.owner, exchange.address),
      });
    const handler = Object.hasOwn(MODERN, method) ? MODERN[method] : undefined;
    if (handler === undefined) throw unknownMethod(404);
    const wishes = wishesOf(method, params, exchange.request.headers, null);
    const ask = { exchange, era, session: null };
    if (wishes === null) return call(message, handler, ask);
    const answer = (told: Told) => call(message, handler, { ...ask, ...told }).catch((error: unknown) => toText(id, error));
    return tell(wishes, calledName(params), (told) => answer(told).then(textOf));
  };

  /** A response text in place of the error that a call ended with. */
  const toText = (id: RpcId, error: unknown) => (error instanceof CallerGone ? null : errorText(id, toRpcError(error, log)));

  const initialize = ({ id, params }: RpcMessage & { id: RpcId }, exchange: Exchange): Response => {
    const asked = params['protocolVersion'];
    const version = LEGACY_VERSIONS.find((known) => known === asked) ?? LEGACY_VERSIONS[0] ?? '';
    const { caller, address } = exchange;
    const holder = callerKey(caller.owner, address);
    const session = sessions.open(caller.owner, version, clientName(params['clientInfo']), holder);
    if (session === null) throw new RpcError(RPC.server, 'Too many sessions are in use. Try again later.', { http_status: 503 });
    return reply(resultText(id, greeting(exchange.registry, version)), 200, { [SESSION]: session.id });
  };

  /** Never throws: an error is an answer like others. */
  const legacy = (message: RpcMessage, ask: Ask): Answer | Promise<Answer> => {
    const { method, params } = message;
    const { session, exchange } = ask;
    if (!hasId(message)) {
      if (method === 'notifications/cancelled') {
        for (const [controller, running] of session?.running ?? []) if (running === params['requestId']) controller.abort();
      }
      return null;
    }
    const handler = Object.hasOwn(LEGACY, method) ? LEGACY[method] : undefined;
    if (handler !== undefined) return call(message, handler, ask);
    try {
      const members = sessionMethod(method, params, session, exchange.registry);
      if (members === null) throw unknownMethod(200);
      return resultText(message.id, members);
    } catch (error) {
      return toText(message.id, error);
    }
  };

  const batch = async (body: readonly unknown[], exchange: Exchange): Promise<Response> => {
    const session = sessionOf(exchange, sessions);
    const version = session?.version ?? exchange.request.headers.get('mcp-protocol-version') ?? HEADERLESS_VERSION;
    if (!BATCH_VERSIONS.has(version) || body.length === 0 || body.length > BATCH) {
      throw new RpcError(RPC.invalid_request, 'Send one message per request. Batches are not part of this protocol version.', {
        http_status: 400,
      });
    }
    const era: Era = { modern: false, version };
    const answers = await Promise.all(
      body.map(async (item) => {
        try {
          const message = toMessage(item);
          return message === null ? null : await textOf(await legacy(message, { exchange, era, session }));
        } catch (error) {
          // The rest of the batch runs, so the rest of the answers is given.
          return errorText(idOf(item), toRpcError(error, options.log));
        }
      }),
    );
    const texts = answers.filter((text) => text !== null);
    return texts.length === 0 ? accepted() : reply(`[${texts.join(',')}]`);
  };

  const one = (message: RpcMessage, exchange: Exchange): Answer | Response | Promise<Answer | Response> => {
    const { headers } = exchange.request;
    const era = eraOf(message, headers);
    if (era.modern) return hasId(message) ? modern(message, exchange, era) : null;
    if (hasId(message) && message.method === 'initialize') return initialize(message, exchange);
    const session = sessionOf(exchange, sessions);
    const ask = { exchange, era, session };
    const wishes = hasId(message) ? wishesOf(message.method, message.params, headers, session?.log_level ?? null) : null;
    if (wishes === null) return legacy(message, ask);
    return tell(wishes, calledName(message.params), async (told) => textOf(await legacy(message, { ...ask, ...told })));
  };

  return {
    async post(exchange, body) {
      try {
        if (Array.isArray(body)) return await batch(body, exchange);
        const message = toMessage(body);
        if (message === null) return accepted();
        const answer = await one(message, exchange);
        if (typeof answer === 'string') return reply(answer);
        return answer === null ? accepted() : answer instanceof Response ? answer : replyWith(answer, exchange);
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
        return streams.attach(session, exchange.peer);
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
function sessionOf({ request, caller, address }: Exchange, sessions: Sessions): Session | null {
  const id = request.headers.get(SESSION);
  if (id === null) return null;
  const session = sessions.find(id, caller.owner, () => callerKey(caller.owner, address));
  if (session === null)
    throw new RpcError(RPC.session_not_found, 'Session not found. Send initialize again.', { http_status: 404 });
  return session;
}

function pageOf(registry: Registry, method: ListMethod, cursor: unknown): Page {
  const page = typeof cursor === 'string' ? pageAt(registry.lists[method], cursor, registry.edition) : null;
  if (page !== null) return page;
  throw new RpcError(RPC.invalid_params, 'The cursor is not valid, or there was a deploy since. Start with the first page.');
}

/** A call that runs. Hardly any is stopped, or takes so long that its caller might leave. */
class Call extends Stop {
  readonly watch: Watch;
  #is_heard = false;

  constructor(watch: Watch) {
    super();
    this.watch = watch;
  }

  /** From now on the call ends when its caller leaves, who may wait for it in silence. */
  hear(): void {
    if (this.#is_heard) return;
    this.#is_heard = true;
    const { request, peer } = this.watch.exchange;
    peer.hold();
    if (request.signal.aborted) this.abort();
    else request.signal.addEventListener('abort', () => this.abort(), { once: true });
  }

  end(): void {
    if (this.#is_heard) this.watch.exchange.peer.release();
  }
}

/** Only a call that has run for so long asks to hear when its caller leaves: the signal of a request costs more than a microsecond. */
const HEAR_MS = 25;

/** The first members of every result of the stateless revision. `server/discover` says them by itself. */
const modernHead = (method: string, registry: Registry, now: number): string =>
  method === 'server/discover' ? '' : `${registry.pieces.modern}${lifetime(method, registry, now)},`;

const within = (head: string, members: string | Page): string | Whole =>
  typeof members === 'string' ? `${head}${members}${RESULT_TAIL}` : members.within(head, RESULT_TAIL);
const textOf = (answer: Answer): string | null | Promise<string> =>
  answer === null || typeof answer === 'string' ? answer : answer.plain().text();

const JSON_HEADERS = { 'content-type': 'application/json' };
const JSON_OK = { status: 200, headers: new Headers(JSON_HEADERS) };
/** An answer of the MCP endpoint. */
export function reply(answer: string | Blob, status = 200, headers?: Readonly<Record<string, string>>): Response {
  const init = status === 200 && headers === undefined ? JSON_OK : { status, headers: { ...JSON_HEADERS, ...headers } };
  return new Response(typeof answer === 'string' ? bodyOf(answer) : answer, init);
}

const GZIP = { 'content-encoding': 'gzip', vary: 'Accept-Encoding' };
function replyWith(answer: Whole, { accepts_gzip }: Exchange): Response {
  const packed = accepts_gzip?.() === true ? answer.packed() : null;
  return packed === null ? reply(answer.plain()) : reply(packed, 200, GZIP);
}

const accepted = () => new Response(null, { status: 202 });
const notAllowed = () =>
  reply(
    errorText(null, new RpcError(RPC.server, 'GET and DELETE need the Mcp-Session-Id of a session. Send messages with POST.')),
    405,
    { allow: 'POST' },
  );
const unknownMethod = (http_status: number) =>
  new RpcError(RPC.method_not_found, 'This server does not support the method.', { http_status });
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
  return new RpcError(RPC.internal, 'The server failed. See its log.', { http_status: 500 });
}
