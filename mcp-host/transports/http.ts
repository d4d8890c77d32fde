import type { Network } from '#core/process/env/settings.ts';
import { requestedHost, requestedOrigin } from '#core/edge/requested-address.ts';
import { preflight, setCors } from '#core/edge/cors.ts';
import { NO_HOST } from '#core/edge/requests/hostless.ts';
import { createHostCheck, hostName, isOriginAllowed, originRefusal } from '#core/edge/origins.ts';
import { isOurs } from '#core/edge/service-token.ts';
import { type Auth, isAuthPath } from '../auth/authenticate.ts';
import type { RequestOrigin } from '../auth/scheme.ts';
import { type Caller, holderOf } from '#mcp-host/auth/caller.ts';
import type { CandidateAuth } from '#mcp-host/auth/candidates.ts';
import { rightsOf } from '#mcp-host/auth/rights.ts';
import { definitionsAnswer, definitionsAt, isDefinitionsPath, type Signatures } from '#mcp-host/dispatch/definitions.ts';
import { type Dispatch, SESSION_HEADER } from '#mcp-host/dispatch/dispatch.ts';
import { candidateAt, type Endpoint, endpointOf, FILE_PATH, WHOLE } from '#core/edge/mcp-endpoint.ts';
import type { GrantableScopes, Exchange } from '#mcp-host/requests/request-record.ts';
import type { Peer } from '#mcp-host/runtime/types.ts';
import { refusalIn } from '#mcp-host/protocol/refusal-notes.ts';
import { refuse, reply, RETRY } from '#mcp-host/protocol/replies.ts';
import { acceptsGzip } from '#mcp-host/protocol/gzip.ts';
import type { HostHealth } from '#mcp-host/observe/health.ts';
import type { Probes } from '#core/edge/probes.ts';
import { type Canary, chosen } from '#mcp-host/registry/canary.ts';
import type { NotServing } from '#mcp-host/dispatch/serving.ts';
import type { Registry } from '#mcp-host/registry/registry.ts';
import type { Views } from '#mcp-host/registry/views.ts';
import { type Message, readMessage } from './body.ts';
import { addressOf, asEvent, hostOf, isHttps, isRelative, pathOf, wantsEvents } from './request-parts.ts';
import { comparedWith, createEarlyBodies, type EarlyBodies } from './early-bodies.ts';
import { OPEN_PATHS } from './open-paths.ts';
import { type Sse, SSE_METHODS, wrongMethod } from './sse.ts';
import { markStreamed, sendingOf } from '#mcp-host/runtime/sending.ts';
import type { Unread } from '#mcp-host/limits/unread.ts';
import { newRequestId } from '#mcp-host/runtime/runtime.ts';

type CurrentView = Registry | NotServing;

export interface HttpOptions {
  readonly dispatch: Dispatch;
  /** Requests whose credentials are being checked or whose bodies are being read; a removed one is refused. */
  readonly arriving: Set<Request>;
  readonly auth: Auth;
  /** The token by which the installation's front port proves its requests. */
  readonly service_token: string;
  readonly trusted_proxies: readonly Network[];
  readonly sse: Sse;
  readonly views: Views;
  /** Names accepted in the Host header besides loopback names and IP literals, in lower case. */
  readonly allowed_hosts: () => ReadonlySet<string>;
  /** The served registry, or why nothing is served. */
  readonly serving: () => CurrentView;
  /** What an address serves; undefined: there is no candidate at the address. */
  readonly servingAt: (endpoint: Endpoint) => CurrentView | undefined;
  /** The running canary; null: all callers get the same version. */
  readonly canary: () => Canary | null;
  /** Signatures of the definitions; absent: this host has no server that signs. */
  readonly signatures?: Signatures;
  readonly candidates: Pick<CandidateAuth, 'authenticate' | 'holds' | 'readsOnly'>;
  /** The platform compresses answers; absent: lists may be sent as gzip. */
  readonly compressed_outside?: boolean;
  /** Answers the address of a file, without its path; absent: there are no files. */
  readonly download?: (sealed: string, request: Request, from: RequestOrigin, peer: Peer) => Promise<Response>;
  readonly health: () => HostHealth;
  /** Whether `/health` answers 503 while nothing can be served. A host has `/readyz` for that. */
  readonly health_is_readiness?: boolean;
  readonly probes: Probes;
  /** Absent: the platform bounds unread answers. */
  readonly unread?: Unread;
  /** Called for each request that was refused before a call. */
  readonly refused: (status: number, reason: string, address: () => string, client: string | null) => void;
}

/** @param path of the request, if it is already known. */
export type HostFetch = (request: Request, peer: Peer, path?: string) => Promise<Response> | Response;

export const MCP_PATH = '/mcp';

/**
 * The routes of the host: `/mcp` and the endpoints below it, the hashes of its definitions, the challenge of OpenAI, `/sse` and
 * `/messages`, `/health`, the probes, and OAuth.
 */
export function createHttp(given: HttpOptions): HostFetch {
  const options = { ...given, early: createEarlyBodies() };
  const { probes, service_token, serving, trusted_proxies } = options;
  const isServed = createHostCheck(options.allowed_hosts);
  const answerAny = (request: Request, peer: Peer, request_id: string, path: string): Response | Promise<Response> => {
    // A Host header without a valid name may mislead a proxy in front of the host.
    if (isRelative(request.url) && (request.headers.get('host') ?? '') !== '') return refuse(400, NO_HOST);
    const probed = path === MCP_PATH ? null : probes(path, request);
    if (probed !== null) return probed;
    const is_sse = Object.hasOwn(SSE_METHODS, path);
    const endpoint = is_sse ? WHOLE : endpointAt(path);
    const { download } = options;
    const is_file = download !== undefined && path.startsWith(FILE_PATH);
    const open = OPEN_PATHS[path];
    if (endpoint === null && open === undefined && !isAuthPath(path) && !is_file) return reply('{"error":"not_found"}', 404);
    const { headers } = request;
    const by_proxy = trusted_proxies.length > 0 && headers.has('x-forwarded-host');
    const requested_host = by_proxy ? requestedHost(headers, peer.address(), trusted_proxies) : headers.get('host');
    const host = requested_host ?? hostOf(request.url);
    // The front port may reach the host by an internal name, such as that of a container.
    if (!isServed(host) && !isOurs(headers, service_token)) {
      if (hostName(host) !== null) return refuse(403, 'This Host is not served here. Add its name to SVC_ALLOWED_HOSTS.');
      return path === '/health' && open !== undefined ? open(request, serving(), options) : refuse(400, NO_HOST);
    }
    const now = serving();
    const origin = headers.get('origin');
    const { cors_origins } = 'idle' in now ? now : now.server;
    if (origin !== null && !isOriginAllowed(origin, host, isHttps(request, peer, options), cors_origins)) {
      return refuse(
        403,
        originRefusal(origin, (name) => options.allowed_hosts().has(name)),
      );
    }
    if (origin !== null && request.method === 'OPTIONS')
      return withCors(preflight(headers.get('access-control-request-headers')), origin);
    const address = () => addressOf(request, peer.address(), options);
    const ours = () => isOurs(headers, service_token);
    const requested_origin = () => requestedOrigin(headers, ours(), peer.address(), trusted_proxies);
    const from = { address, origin: requested_origin, ours, request_id, path: endpoint?.path ?? '', is_sse };
    const answered =
      endpoint !== null
        ? answer({ path, request, endpoint, peer, now, address, from, request_id }, options)
        : open !== undefined
          ? open(request, now, options)
          : is_file
            ? download(path.slice(FILE_PATH.length), request, from, peer).then(markStreamed)
            : answerAuth(path, request, now, from, options);
    return origin === null ? answered : withCors(answered, origin);
  };
  return (request, peer, path = pathOf(request.url)) => {
    const given = request.headers.get('x-request-id');
    const id = given !== null && REQUEST_ID.test(given) ? given : newRequestId();
    const named = (response: Response): Response => {
      const reason = response.status < 400 ? undefined : refusalIn(response);
      if (reason !== undefined) {
        const address = () => addressOf(request, peer.address(), options);
        options.refused(response.status, reason, address, request.headers.get('user-agent'));
      }
      const sending = sendingOf(response);
      sending?.onHold(() => options.unread?.add(addressOf(request, peer.address(), options), sending));
      response.headers.set('x-request-id', id);
      return response;
    };
    const answered = answerAny(request, peer, id, path);
    return answered instanceof Promise ? answered.then(named) : named(answered);
  };
}

/** The endpoint of a path; null: it is not an MCP path. */
function endpointAt(path: string): Endpoint | null {
  if (path === MCP_PATH) return WHOLE;
  if (isDefinitionsPath(path)) return definitionsAt(path);
  if (!path.startsWith(`${MCP_PATH}/`)) return null;
  const rest = path.slice(MCP_PATH.length);
  return endpointOf(rest) ?? candidateAt(rest);
}

/** Request ids that a caller or the front port may set. */
const REQUEST_ID = /^[\w.-]{1,128}$/;

async function withCors(answered: Response | Promise<Response>, origin: string): Promise<Response> {
  const response = await answered;
  setCors(response.headers, origin);
  return response;
}

/** Answers requests for OAuth metadata and tokens, which need no credential. */
async function answerAuth(
  path: string,
  request: Request,
  now: CurrentView,
  from: RequestOrigin,
  { auth }: HttpOptions,
): Promise<Response> {
  if (!('idle' in now) && now.server.transport === 'stdio') return Response.json({ detail: SPEAKS_STDIO }, { status: 404 });
  if ('idle' in now) return Response.json({ detail: now.idle }, { status: 503, headers: RETRY });
  return auth.answer(path, request, now.server, from);
}

/** With the transport stdio, the host serves nothing over the network. */
const SPEAKS_STDIO =
  'This server uses standard input and output. The Sluice UI shows the command under MCP access; in the folder of Sluice it is: bun mcp-host/stdio.ts';

interface IncomingRequest extends Omit<Exchange, 'registry' | 'caller'> {
  readonly request_id: string;
  readonly path: string;
  readonly endpoint: Endpoint;
  readonly now: CurrentView;
  readonly from: RequestOrigin;
  /** The body, or why it is refused, if it was already read. */
  readonly message?: Message | Response;
}

interface Options extends HttpOptions {
  readonly early: EarlyBodies;
}

function answer(incoming: IncomingRequest, options: Options): Response | Promise<Response> {
  const { path, request, now, message } = incoming;
  if ('idle' in now) {
    const { held, idle } = now;
    // The request may carry a person's answer, for which a call waits that may still finish.
    if (held === null || !options.dispatch.awaits(request)) return refuse(503, idle, RETRY);
    return answer({ ...incoming, now: held, answers_only: idle }, options);
  }
  const { transport } = now.server;
  if (transport === 'stdio') return refuse(404, SPEAKS_STDIO);
  if (transport !== 'sse' && Object.hasOwn(SSE_METHODS, path)) return reply('{"error":"not_found"}', 404);
  const is_call = message === undefined && !Object.hasOwn(SSE_METHODS, path) && !isDefinitionsPath(path);
  const asks = now.server.auth_type !== 'none' || incoming.endpoint.candidate !== null;
  if (is_call && asks && options.early.takes(request)) return readFirst(now, incoming, options);
  return admit(now, incoming, options);
}

/** Compares the headers with the body before the credential is looked at. */
async function readFirst(registry: Registry, incoming: IncomingRequest, options: Options): Promise<Response> {
  const { arriving, early, serving } = options;
  arriving.add(incoming.request);
  const message = await early.read(incoming.request);
  const is_awaited = arriving.delete(incoming.request);
  const protocol = message instanceof Response ? undefined : comparedWith(message, incoming.request.headers);
  if (protocol instanceof Response) return protocol;
  const now = serving();
  const read = { ...incoming, message, protocol };
  return now === registry || ('idle' in now && is_awaited) ? admit(registry, read, options) : answerAnew(read, options);
}

/** Checks the credential. */
function admit(now: Registry, incoming: IncomingRequest, options: Options): Response | Promise<Response> {
  const { request, from, endpoint } = incoming;
  if (endpoint.candidate !== null) return answerCandidate(endpoint.candidate, incoming, options);
  const caller = options.auth.authenticate(request, now.server, from);
  if (caller instanceof Promise) return answerLater(caller, now, incoming, options);
  return answerTo(caller, now, incoming, options);
}

/** Counts the call while its credentials are being checked, because a stop waits for such calls. */
async function answerLater(
  verdict: Promise<Caller | Response>,
  registry: Registry,
  incoming: IncomingRequest,
  options: Options,
): Promise<Response> {
  const { arriving, serving } = options;
  const { request } = incoming;
  if (request.method === 'POST') arriving.add(request);
  let is_awaited = false;
  const caller = await verdict.finally(() => {
    is_awaited = arriving.delete(request);
  });
  if (caller instanceof Response) return caller;
  const now = serving();
  if (now === registry || ('idle' in now && is_awaited)) return answerTo(caller, registry, incoming, options);
  return answerAnew(incoming, options);
}

/** Starts again, because while the request waited another version was served, or the caller lost its admission. */
function answerAnew({ answers_only: _, ...incoming }: IncomingRequest, options: Options): Response | Promise<Response> {
  return answer({ ...incoming, now: options.serving() }, options);
}

/** The token of a candidate is valid only at its address, where no other credential is valid. */
function answerCandidate(id: string, incoming: IncomingRequest, options: Options): Response | Promise<Response> {
  const caller = options.candidates.authenticate(incoming.request, id, incoming.address);
  const registry = options.servingAt(incoming.endpoint);
  if (registry === undefined || 'idle' in registry) return refuse(404, NOTHING_HERE);
  const endpoint = { ...incoming.endpoint, read_only: options.candidates.readsOnly(id) };
  return answerTo(caller, registry, { ...incoming, endpoint }, options);
}

function answerTo(
  caller: Caller | Response,
  registry: Registry,
  incoming: IncomingRequest,
  options: Options,
): Response | Promise<Response> {
  const { path, request, endpoint, peer, address, from, request_id, answers_only, protocol } = incoming;
  const { auth, dispatch, sse, views, canary, compressed_outside = false } = options;
  if (caller instanceof Response) return caller;
  const { method } = request;
  const sse_method = Object.hasOwn(SSE_METHODS, path) ? SSE_METHODS[path] : undefined;
  if (sse_method !== undefined && method !== sse_method) return wrongMethod(sse_method);
  if (sse_method === 'GET') return sse.open(caller, peer, address());
  if (sse_method === 'POST') return sse.post(request, caller);
  const accepts_gzip = () => !compressed_outside && acceptsGzip(request.headers.get('accept-encoding')) && !wantsEvents(request);
  const { rights } = caller;
  const running = canary();
  const forKey = running === null || endpoint.candidate !== null ? null : (key: string) => chosen(registry, running, key);
  const mine = forKey === null ? registry : forKey(sideKey(request, caller, address));
  const seen = views.of(mine, { rights, endpoint });
  const beyond = rights.may_ask.length === 0 ? null : grantableScopesOf(registry, caller, from, { auth, views });
  if (seen === null) {
    const may_ask = endpoint.toolset !== null && rights.may_ask.includes(endpoint.toolset) ? [endpoint.toolset] : [];
    return beyond === null || may_ask.length === 0 ? refuse(404, NOTHING_HERE) : scopeChallenge(may_ask, beyond);
  }
  if (isDefinitionsPath(path)) return definitionsAnswer(request, { seen, endpoint, whole: mine }, options.signatures);
  const exchange = {
    request,
    registry: seen,
    caller,
    endpoint,
    address,
    peer,
    origin: from.origin,
    accepts_gzip,
    request_id,
    answers_only,
    protocol,
    beyond: beyond ?? undefined,
    forKey: forKey === null ? undefined : (key: string) => views.of(forKey(key), { rights, endpoint }) ?? seen,
  };
  if (method === 'POST') return answerPost(exchange, registry, incoming, options);
  if (method === 'GET') return dispatch.get(exchange);
  if (method === 'DELETE') return dispatch.delete(exchange);
  return refuse(405, 'Use POST.', { allow: 'POST' });
}

/** The key that decides the side of a canary: the credential, else the session, else the address. */
const sideKey = ({ headers }: Request, caller: Caller, address: () => string): string =>
  caller.owner || headers.get(SESSION_HEADER) || holderOf(caller, address);

/** The same text for an address that serves nothing, and for an address that serves nothing to this caller. */
const NOTHING_HERE = 'There is no toolset at this address, or you cannot use it.';

const scopeChallenge = (scopes: readonly string[], beyond: GrantableScopes): Response =>
  refuse(403, `This needs the scope ${scopes.join(' or ')}. Sign in again and allow it.`, {
    'www-authenticate': beyond.challenge(scopes),
  });

function grantableScopesOf(
  registry: Registry,
  { rights: { toolsets, may_ask } }: Caller,
  from: RequestOrigin,
  { auth, views }: Pick<HttpOptions, 'auth' | 'views'>,
): GrantableScopes {
  const viewOf = (name: string) => views.of(registry, { rights: rightsOf([name]), endpoint: WHOLE }) ?? registry;
  return {
    scopesFor: (shows) => may_ask.filter((name) => shows(viewOf(name))).slice(0, 1),
    challenge: (scopes) => auth.challenge([...new Set([...(toolsets ?? []), ...scopes])], from),
  };
}

async function answerPost(
  exchange: Exchange,
  registry: Registry,
  incoming: IncomingRequest,
  options: Options,
): Promise<Response> {
  const { auth, dispatch, arriving } = options;
  const { request } = exchange;
  let { message } = incoming;
  if (message instanceof Response) return message;
  if (message === undefined) {
    arriving.add(request);
    const edition = auth.edition();
    const read = await readMessage(request);
    const is_awaited = arriving.delete(request);
    if (read instanceof Response) return read;
    if (auth.edition() !== edition || !stillHolds(exchange, registry, is_awaited, options))
      return answerAnew({ ...incoming, message: read }, options);
    message = read;
  }
  const response = await dispatch.post(exchange, message.body);
  return wantsEvents(request) ? asEvent(response) : response;
}

/**
 * Whether the same registry is served and the caller is still admitted. @param is_awaited whether a stop waits for the request.
 */
function stillHolds(
  { caller, endpoint }: Exchange,
  registry: Registry,
  is_awaited: boolean,
  { servingAt, auth, candidates }: HttpOptions,
): boolean {
  const now = servingAt(endpoint);
  if (now !== registry && !(is_awaited && now !== undefined && 'idle' in now)) return false;
  return endpoint.candidate === null ? auth.holds(caller, registry.server) : candidates.holds(caller.owner);
}
