import { holderOf } from '#mcp-host/auth/caller.ts';
import { protocolVersionHeader } from '#core/edge/requests/mcp-request.ts';
import { drawsViews, opensPages, showsForms } from '#mcp-host/protocol/client-capabilities.ts';
import type { CancelsElsewhere } from '#mcp-host/requests/running-calls.ts';
import { type ProgressRequest, type ProgressStream, readsEvents, requestedProgress } from '#mcp-host/requests/progress-stream.ts';
import { createRequestRecord, type RequestRecord } from '#mcp-host/requests/request-record.ts';
import { initializeResult } from '#mcp-host/registry/presentation.ts';
import type { Viewer } from '#mcp-host/registry/views.ts';
import { type Answer, type AnswerOptions, createAnswer, faultText, sizeOf, textOf } from './answer.ts';
import type { Exchange } from '#mcp-host/requests/request-record.ts';
import { type Followed, toFilter } from './followed.ts';
import {
  BATCH_VERSIONS,
  errorText,
  HEADERLESS_VERSION,
  isMembers,
  isRpcId,
  LEGACY_VERSIONS,
  type Members,
  resultText,
  RPC,
  RpcError,
  type RpcId,
  type RpcMessage,
  sessionNotFound,
  toMessage,
} from '#mcp-host/protocol/messages.ts';
import { legacyHandler, modernHandler } from './methods.ts';
import { streamProgress } from './progress-response.ts';
import { checkMinimum, clientName, type ProtocolVersion, protocolVersionOf } from '#mcp-host/protocol/protocol-version.ts';
import { accepted, idOf, refuse, reply, RETRY, toRpcError } from '#mcp-host/protocol/replies.ts';
import { replyToFault, replyWith } from './answer.ts';
import { sessionMethod } from './session-methods.ts';
import type { Session, Sessions } from '#mcp-host/requests/sessions.ts';
import type { Streams } from './streams.ts';

export interface DispatchOptions extends AnswerOptions {
  readonly cancels: CancelsElsewhere;
  readonly sessions: Sessions;
  readonly streams: Streams;
}

export interface Dispatch {
  /** Whether a call waits for an answer that the request may carry. */
  awaits(request: Request): boolean;
  /** @param body parsed JSON of a POST. */
  post(exchange: Exchange, body: unknown): Promise<Response>;
  /** The event stream of a legacy session. */
  get(exchange: Exchange): Response;
  /** Ends a legacy session. */
  delete(exchange: InSession): Response;
}

/** The parts of an exchange that identify its session. */
type InSession = Pick<Exchange, 'request' | 'caller' | 'endpoint' | 'address' | 'key' | 'request_id'>;

export const SESSION_HEADER = 'Mcp-Session-Id';
const BATCH = 50;
/** Most characters of all answers to a batch together; the first one always fits. */
const BATCH_ANSWERS = 4 * 1024 * 1024;
const NOT_FITTING =
  'The message was carried out, but its answer is left out, because those of the batch would be larger than 4 MiB together. Send messages with large answers on their own.';

export const createDispatch = (options: DispatchOptions): Dispatch => new MessageRouter(options);

/** Routes each message to its handler, by the revision of the protocol that it uses. */
class MessageRouter implements Dispatch {
  readonly #options: DispatchOptions;
  readonly #answer: ReturnType<typeof createAnswer>;

  constructor(options: DispatchOptions) {
    this.#options = options;
    this.#answer = createAnswer(options);
  }

  awaits({ method, headers }: Request): boolean {
    return method === 'POST' && this.#options.sessions.isAsked(headers.get(SESSION_HEADER));
  }

  async post(exchange: Exchange, body: unknown): Promise<Response> {
    const { answers_only } = exchange;
    try {
      if (answers_only !== undefined && !isAnswer(body)) return refuse(503, answers_only, RETRY, { id: idOf(body) });
      if (Array.isArray(body)) return await this.#batch(body, exchange);
      const message = toMessage(body);
      if (message === null) return this.#takeResponse(exchange, body);
      const answered = await this.#one(message, exchange);
      if (typeof answered === 'string') return reply(answered);
      if (answered === null) return accepted();
      return answered instanceof Response ? answered : replyWith(answered, exchange);
    } catch (error) {
      return replyToFault(error, body, this.#options.log, exchange.request_id, exchange.beyond);
    }
  }

  get(exchange: Exchange): Response {
    return this.#withSession(exchange, (session) => this.#options.streams.attach(session, exchange));
  }

  delete(exchange: InSession): Response {
    return this.#withSession(exchange, (session) => {
      this.#options.sessions.end(session);
      this.#options.streams.detach(session);
      return new Response(null, { status: 204 });
    });
  }

  /** URIs that a caller's sessions and subscriptions follow. The stream of a session follows the URIs of that session. */
  readonly #followed = (holder: string): Followed =>
    new Set([...this.#options.sessions.followed(holder), ...this.#options.streams.followed(holder)]);

  #modern(record: RequestRecord, id: RpcId): Promise<Answer | Response> | Response {
    const { message, exchange } = record;
    const { method, params } = message;
    if (method === 'subscriptions/listen') {
      const { caller, peer, address, registry } = exchange;
      const holder = holderOf(caller, address);
      const by = { caller, peer, holder, viewer: { key: holder, ...viewerOf(exchange) } };
      const filter = toFilter(params['notifications'], registry, this.#followed(holder));
      return this.#options.streams.listen(id, filter, registry.pieces.server_info, by);
    }
    const handler = modernHandler(method);
    if (handler === undefined) throw unknownMethod(404);
    const progress_request = requestedProgress(method, params, exchange.request.headers, null);
    if (progress_request === null) return this.#answer(record, id, handler);
    return streamProgress(progress_request, calledName(params), (progress) =>
      this.#answer(record, id, handler, progress).then(textOf, (error: unknown) =>
        faultText(record, id, error, this.#options.log),
      ),
    );
  }

  #initialize({ params }: RpcMessage, id: RpcId, exchange: Exchange): Response {
    const { caller, address } = exchange;
    const requested_version = params['protocolVersion'];
    const version = LEGACY_VERSIONS.find((known) => known === requested_version) ?? LEGACY_VERSIONS[0] ?? '';
    checkMinimum(version, exchange.registry.server.min_protocol_version);
    const client = clientName(params['clientInfo']);
    const { capabilities } = params;
    const { offered } = this.#options.app_views;
    const draws_views = offered && drawsViews(capabilities);
    const can = { shows_forms: showsForms(capabilities), opens_pages: opensPages(capabilities), draws_views };
    const holder = holderOf(caller, address);
    const session = this.#options.sessions.open(caller.owner, version, client, holder, viewerOf(exchange), can);
    if (session === null) throw new RpcError(RPC.server, 'Too many sessions are in use. Try again later.', { http_status: 503 });
    const registry = exchange.forKey?.(session.key) ?? exchange.registry;
    return reply(resultText(id, initializeResult(registry, version, offered)), 200, { [SESSION_HEADER]: session.id });
  }

  /** Never throws: errors become answers. */
  #legacy(record: RequestRecord, progress: ProgressStream | null = null): Answer | Promise<Answer> {
    const { message, session, exchange } = record;
    const { method, params, id } = message;
    if (id === undefined) {
      if (method === 'notifications/cancelled') cancel(session, params['requestId'], this.#options.cancels);
      return null;
    }
    const handler = legacyHandler(method);
    if (handler !== undefined) return this.#answer(record, id, handler, progress);
    try {
      const context = { registry: exchange.registry, followed: this.#followed };
      const members = sessionMethod(method, params, session, context);
      record.known = members !== null;
      if (members === null) throw unknownMethod(200);
      return resultText(id, members);
    } catch (error) {
      record.error = error;
      this.#options.observe(record);
      return faultText(record, id, error, this.#options.log);
    }
  }

  async #batch(body: readonly unknown[], exchange: Exchange): Promise<Response> {
    const session = sessionOf(exchange, this.#options.sessions);
    const version = session?.version ?? protocolVersionHeader(exchange.request.headers) ?? HEADERLESS_VERSION;
    checkMinimum(version, exchange.registry.server.min_protocol_version);
    if (!BATCH_VERSIONS.has(version) || body.length === 0 || body.length > BATCH) {
      throw new RpcError(RPC.invalid_request, 'Send one message per request. Batches are not part of this protocol version.', {
        http_status: 400,
      });
    }
    const protocol: ProtocolVersion = { modern: false, version };
    let answered = 0;
    const fits = (size: number): boolean => {
      if (answered > 0 && answered + size > BATCH_ANSWERS) return false;
      answered += size;
      return true;
    };
    const answers = await Promise.all(
      body.map(async (item) => {
        try {
          const message = toMessage(item);
          const given = message && (await this.#legacy(createRequestRecord(message, exchange, protocol, session)));
          return given === null || fits(sizeOf(given)) ? await textOf(given) : errorText(idOf(item), tooLarge());
        } catch (error) {
          // The other messages of the batch were carried out, so they are answered.
          return errorText(idOf(item), toRpcError(error, this.#options.log, exchange.request_id));
        }
      }),
    );
    const texts = answers.filter((text) => text !== null);
    return texts.length === 0 ? accepted() : reply(`[${texts.join(',')}]`);
  }

  #one(message: RpcMessage, exchange: Exchange): Answer | Response | Promise<Answer | Response> {
    const { headers } = exchange.request;
    const { method, params, id } = message;
    const protocol = exchange.protocol ?? protocolVersionOf(message, headers);
    if (protocol.modern) {
      return id === undefined ? null : this.#modern(createRequestRecord(message, exchange, protocol, null), id);
    }
    if (id !== undefined && method === 'initialize') return this.#initialize(message, id, exchange);
    const session = sessionOf(exchange, this.#options.sessions);
    checkMinimum(session?.version ?? protocol.version ?? HEADERLESS_VERSION, exchange.registry.server.min_protocol_version);
    const record = createRequestRecord(message, exchange, protocol, session);
    const progress_request =
      id === undefined
        ? null
        : (requestedProgress(method, params, headers, session?.log_level ?? null) ?? questionStream(record, headers));
    if (progress_request === null) return this.#legacy(record);
    return streamProgress(progress_request, calledName(params), (progress) => {
      const answered = async () => textOf(await this.#legacy(record, progress));
      return answered().catch((error: unknown) => faultText(record, id ?? '', error, this.#options.log));
    });
  }

  /** Takes the client's answer to a request of the host. It is matched by session; another host may have sent the request. */
  #takeResponse(exchange: Exchange, body: unknown): Response {
    const id = isMembers(body) ? body['id'] : undefined;
    const session = isRpcId(id) ? sessionOf(exchange, this.#options.sessions) : null;
    if (!isMembers(body) || typeof id !== 'string' || session === null) return accepted();
    const take = session.asked.get(id);
    if (take === undefined) this.#options.confirmations.elsewhere.hand(session, id, body);
    else take(body);
    return accepted();
  }

  /** Runs an action in the session of the exchange, or refuses the request. */
  #withSession(exchange: InSession, act: (session: Session) => Response): Response {
    try {
      const session = sessionOf(exchange, this.#options.sessions);
      return session === null ? refuse(405, NEEDS_SESSION, { allow: 'POST' }) : act(session);
    } catch (error) {
      return replyToFault(error, null, this.#options.log, exchange.request_id);
    }
  }
}

/** A call that may ask a person is answered with a stream, on which the question can be sent. */
function questionStream({ session, message, exchange }: RequestRecord, headers: Headers): ProgressRequest | null {
  const { method, params } = message;
  const asks = session !== null && (session.shows_forms || session.opens_pages);
  if (!asks || method !== 'tools/call' || typeof params['name'] !== 'string') return null;
  const tool = exchange.registry.tools.get(params['name'])?.entity;
  const may_ask = tool?.confirm !== undefined || (tool?.ask_missing === true && session.shows_forms);
  if (!may_ask || !readsEvents(headers)) return null;
  return { progress_token: null, log_level: null };
}

/** A new object for each session and stream, because the rights in it are updated. */
const viewerOf = ({ caller: { rights }, endpoint, key }: InSession): Viewer => ({
  rights,
  endpoint,
  ...(key === undefined ? {} : { key }),
});

/** Whether a body is the answer to a request of the host. */
const isAnswer = (body: unknown): boolean => isMembers(body) && ('result' in body || 'error' in body);
const NEEDS_SESSION = 'GET and DELETE need the Mcp-Session-Id of a session. Send messages with POST.';

/** The session that the request names; null: none. Throws a 404 for an unknown one, so that the client initialises again. */
function sessionOf(exchange: InSession, sessions: Sessions): Session | null {
  const { request, caller, address } = exchange;
  const id = request.headers.get(SESSION_HEADER);
  if (id === null) return null;
  const session = sessions.find(id, caller.owner, () => holderOf(caller, address), viewerOf(exchange));
  if (session === null) throw sessionNotFound('Session not found. Send initialize again.');
  return session;
}

function cancel(session: Session | null, request: unknown, elsewhere: CancelsElsewhere): void {
  if (session === null) return;
  const calls = [...session.running].filter(([, id]) => id === request);
  for (const [call] of calls) call.abort();
  if (calls.length === 0 && isRpcId(request)) elsewhere.hand(session, request);
}

const tooLarge = () => new RpcError(RPC.server, NOT_FITTING);
const unknownMethod = (http_status: number) =>
  new RpcError(RPC.method_not_found, 'This server does not support the method.', { http_status });
const calledName = ({ name, uri }: Members): string => (typeof name === 'string' ? name : typeof uri === 'string' ? uri : '');
