import type { Network } from '#core/env.ts';
import { askedOrigin } from '#core/edge/asked-address.ts';
import { clientAddress, forwardedScheme } from '#core/edge/client-address.ts';
import { preflight, setCors } from '#core/edge/cors.ts';
import { createHostCheck, isOriginAllowed } from '#core/edge/origins.ts';
import { isOurs } from '#core/edge/service-token.ts';
import { type Auth, isAuthPath, type Way } from '../auth/authorise.ts';
import type { Caller } from '../auth/scheme.ts';
import { type Dispatch, type Exchange, type Peer, reply } from '#mcp-host/protocol/dispatch.ts';
import { errorText, RPC, RpcError } from '#mcp-host/protocol/messages.ts';
import { acceptsGzip } from './gzip.ts';
import type { HostHealth } from '#mcp-host/observe/health.ts';
import type { Probes } from '#core/edge/probes.ts';
import type { Registry } from '#mcp-host/swap/registry.ts';
import { readMessage } from './body.ts';
import { type Sse, SSE_METHODS, wrongMethod } from './sse.ts';

type Serving = Registry | { readonly idle: string; readonly cors_origins: readonly string[] };

export interface HttpOptions {
  readonly dispatch: Dispatch;
  readonly auth: Auth;
  /** Shows that a request comes from our own front port. */
  readonly service_token: string;
  readonly trusted_proxies: readonly Network[];
  readonly sse: Sse;
  /** Names accepted in the Host header besides loopback names and IP literals, in lower case. */
  readonly allowed_hosts: () => ReadonlySet<string>;
  /** What is served now, or why nothing is. */
  readonly serving: () => Serving;
  readonly health: () => HostHealth;
  readonly probes: Probes;
  /** Is told the status of a request that was not let in. */
  readonly refused: (status: number) => void;
}

/** @param path of the request, where it is known already. */
export type HostFetch = (request: Request, peer: Peer, path?: string) => Promise<Response> | Response;

export const MCP_PATH = '/mcp';

/** The routes of the host: `/mcp`, `/sse` with `/messages`, `/health`, and those of OAuth. */
export function createHttp(options: HttpOptions): HostFetch {
  const { probes, service_token, serving } = options;
  const isServed = createHostCheck(options.allowed_hosts);
  const answerAny = (request: Request, peer: Peer, request_id: string, path: string): Response | Promise<Response> => {
    const probed = path === MCP_PATH ? null : probes(path, request);
    if (probed !== null) return probed;
    const is_mcp = path === MCP_PATH || path === '/mcp/' || Object.hasOwn(SSE_METHODS, path);
    if (!is_mcp && path !== '/health' && !isAuthPath(path)) return reply('{"error":"not_found"}', 404);
    const { headers } = request;
    const host = headers.get('host') ?? new URL(request.url).host;
    // Our own front port reaches us by a name that only it may know, such as that of a container.
    if (!isServed(host) && !isOurs(headers, service_token))
      return refused('This Host is not served here. Add its name to SVC_ALLOWED_HOSTS.');
    const now = serving();
    const origin = headers.get('origin');
    const { cors_origins } = 'idle' in now ? now : now.server;
    if (origin !== null && !isOriginAllowed(origin, host, isHttps(request, peer, options), cors_origins)) {
      return refused('This Origin is not allowed. Add it to cors_origins of the server configuration, or to SVC_ALLOWED_HOSTS.');
    }
    if (origin !== null && request.method === 'OPTIONS')
      return withCors(preflight(headers.get('access-control-request-headers')), origin);
    const address = () => addressOf(request, peer.address(), options);
    const origin_asked = () => askedOrigin(headers, isOurs(headers, service_token), peer.address(), options.trusted_proxies);
    const way = { address, origin: origin_asked };
    const answered = is_mcp
      ? answer({ path, request, peer, now, address, way, request_id }, options)
      : path === '/health'
        ? answerHealth(request, options)
        : answerAuth(path, request, now, way, options);
    return origin === null ? answered : withCors(answered, origin);
  };
  return (request, peer, path = pathOf(request.url)) => {
    const given = request.headers.get('x-request-id');
    const id = given !== null && REQUEST_ID.test(given) ? given : Bun.randomUUIDv7();
    const named = (response: Response): Response => {
      response.headers.set('x-request-id', id);
      return response;
    };
    const answered = answerAny(request, peer, id, path);
    return answered instanceof Promise ? answered.then(named) : named(answered);
  };
}

/** What a caller, or the front port, may name a request. */
const REQUEST_ID = /^[\w.-]{1,128}$/;

async function withCors(answered: Response | Promise<Response>, origin: string): Promise<Response> {
  const response = await answered;
  setCors(response.headers, origin);
  return response;
}

/** Names, queues and figures are for who has the service token; everybody else learns whether the host is well. */
async function answerHealth(request: Request, { health, service_token }: HttpOptions): Promise<Response> {
  if (request.method !== 'GET') return reply('{"error":"method_not_allowed"}', 405, { allow: 'GET' });
  const all = health();
  if (isOurs(request.headers, service_token)) return Response.json(all);
  const { status, snapshot_version, server_name, transport, uptime_seconds, access_tokens } = all;
  return Response.json({ status, snapshot_version, server_name, transport, uptime_seconds, access_tokens });
}

/** What a client reads or buys before it has a credential. */
async function answerAuth(path: string, request: Request, now: Serving, way: Way, { auth }: HttpOptions): Promise<Response> {
  if (!('idle' in now) && now.server.transport === 'stdio') return Response.json({ detail: SPEAKS_STDIO }, { status: 404 });
  if ('idle' in now) return Response.json({ detail: now.idle }, { status: 503, headers: { 'retry-after': '5' } });
  return auth.answer(path, request, now.server, way);
}

/** What a host is set to speak over standard input is not to be had over the network. */
const SPEAKS_STDIO =
  'This server uses standard input and output. The Sluice UI shows the command under MCP access; in the folder of Sluice it is: bun mcp-host/stdio.ts';

interface Asked extends Omit<Exchange, 'registry' | 'caller'> {
  readonly request_id: string;
  readonly path: string;
  readonly now: Serving;
  readonly way: Way;
}

function answer(asked: Asked, options: HttpOptions): Response | Promise<Response> {
  const { path, request, now, way } = asked;
  if ('idle' in now) {
    const error = new RpcError(RPC.server, now.idle);
    return reply(errorText(null, error), 503, { 'retry-after': '5' });
  }
  const { transport } = now.server;
  if (transport === 'stdio') return reply(errorText(null, new RpcError(RPC.server, SPEAKS_STDIO)), 404);
  if (transport !== 'sse' && Object.hasOwn(SSE_METHODS, path)) return reply('{"error":"not_found"}', 404);
  const caller = options.auth.authorise(request, now.server, way);
  if (caller instanceof Promise) return caller.then((verdict) => answerTo(verdict, now, asked, options));
  return answerTo(caller, now, asked, options);
}

function answerTo(
  caller: Caller | Response,
  registry: Registry,
  { path, request, peer, address, request_id }: Asked,
  { dispatch, sse, refused }: HttpOptions,
): Response | Promise<Response> {
  if (caller instanceof Response) {
    refused(caller.status);
    return caller;
  }
  const { method } = request;
  const sse_method = Object.hasOwn(SSE_METHODS, path) ? SSE_METHODS[path] : undefined;
  if (sse_method !== undefined && method !== sse_method) return wrongMethod(sse_method);
  if (sse_method === 'GET') return sse.open(caller, peer, address());
  if (sse_method === 'POST') return sse.post(request, caller);
  const accepts_gzip = () => acceptsGzip(request.headers.get('accept-encoding')) && !wantsEvents(request);
  const exchange = { request, registry, caller, address, peer, accepts_gzip, request_id };
  if (method === 'POST') return answerPost(exchange, dispatch);
  if (method === 'GET') return dispatch.get(exchange);
  if (method === 'DELETE') return dispatch.delete(exchange);
  return reply(errorText(null, new RpcError(RPC.server, 'Use POST.')), 405, { allow: 'POST' });
}

async function answerPost(exchange: Exchange, dispatch: Dispatch): Promise<Response> {
  const message = await readMessage(exchange.request);
  if (message instanceof Response) return message;
  const response = await dispatch.post(exchange, message.body);
  return wantsEvents(exchange.request) ? asEvent(response) : response;
}

/** A client that accepts events and names no JSON. Everybody else gets JSON, whatever they say. */
function wantsEvents(request: Request): boolean {
  const accept = request.headers.get('accept');
  return accept !== null && accept.includes('text/event-stream') && !/application\/(?:json|\*)|\*\/\*/.test(accept);
}

async function asEvent(response: Response): Promise<Response> {
  if (response.status !== 200 || response.headers.get('content-type') !== 'application/json') return response;
  const headers = new Headers(response.headers);
  const bytes = Buffer.from(`event: message\ndata: ${await response.text()}\n\n`);
  headers.set('content-type', 'text/event-stream');
  // One piece is no stream: its connection may idle out like any other.
  headers.set('content-length', String(bytes.length));
  return new Response(bytes, { headers });
}

/** As far as a trusted proxy says so: the host itself speaks without TLS. */
const isHttps = ({ headers }: Request, peer: Peer, { trusted_proxies }: HttpOptions): boolean =>
  forwardedScheme(peer.address(), headers.get('x-forwarded-proto'), trusted_proxies) === 'https';

/** Our own front port says for whom it asks, and so does a trusted proxy (contract section 0). */
function addressOf({ headers }: Request, socket_address: string, { service_token, trusted_proxies }: HttpOptions): string {
  const told = isOurs(headers, service_token) ? headers.get('x-client-address') : null;
  return told ?? clientAddress(socket_address, headers.get('x-forwarded-for'), trusted_proxies) ?? socket_address;
}

/** The path of an absolute URL without its query, without the cost of a URL object. */
function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('//') + 2);
  const end = url.indexOf('?', start);
  return start < 0 ? '/' : url.slice(start, end < 0 ? undefined : end);
}

const refused = (message: string): Response => reply(errorText(null, new RpcError(RPC.server, message)), 403);
