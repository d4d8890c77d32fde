import { LONGEST_ACCESS_TOKEN } from '#core/edge/identity.ts';
import { readText } from '#core/edge/body.ts';
import { repeatedKey, repeatedKeySentence } from '#core/lib/text/repeated-key.ts';
import type { Network } from '#core/process/env/settings.ts';
import { AppError } from '#core/errors.ts';
import { type Log, traceOf } from '#core/process/log.ts';
import { requestedHost, requestedOrigin, createAddresses } from '#core/edge/requested-address.ts';
import { clientAddress, forwardedScheme } from '#core/edge/client-address.ts';
import { preflight, setCors } from '#core/edge/cors.ts';
import { refuseRegistration, REGISTER_PATH } from '#core/edge/registration.ts';
import { withOneVersion, withoutNulls } from '#core/edge/requests/mcp-request.ts';
import { isOurs } from '#core/edge/service-token.ts';
import { PRODUCT_VERSION } from '#core/process/version.ts';
import { enter } from './entrance.ts';
import {
  answerAuthorize,
  answerToken,
  DEFAULT_SCOPES,
  isMetadataPath,
  MCP_PATHS,
  metadataDocuments,
  metadataUrl,
} from './oauth.ts';
import { createMcp } from './mcp.ts';
import { type Caller, createServerLink } from './server-link.ts';
import type { Tally } from './tools/tools.ts';

export interface AgentOptions {
  readonly server_url: string;
  readonly service_token: string;
  /** Proxies in front of this port. */
  readonly trusted_proxies: readonly Network[];
  /** URL of the front port for clients. Null: the address that each client requested. */
  readonly public_url: string | null;
  /** URL of the front port on this machine. */
  readonly local_url: string;
  readonly allowed_hosts: ReadonlySet<string>;
  /** Ports through which clients on this machine can reach the agent. */
  readonly local_ports: ReadonlySet<number>;
  readonly log: Log;
  /** Counts over all calls. */
  readonly tally: Tally;
}

/** The client of a request, and the origin that it requested. */
interface Client {
  readonly client_address: string | null;
  readonly request_id: string;
  readonly origin: string | null;
}

/** @param address of the socket. */
export type AgentFetch = (request: Request, address: string | null) => Promise<Response>;

export const INTERNAL = 'Something went wrong in the agent endpoint. See its log.';

const BODY = { max_bytes: 4 * 1024 * 1024, within_ms: 30_000 };

/** Answers all requests of the agent endpoint. It stores nothing between two requests. */
export function createAgent(options: AgentOptions): AgentFetch {
  const { public_url, local_url, allowed_hosts, local_ports, log } = options;
  const link = createServerLink(options);
  const mcp = createMcp(link, log, options.tally);
  /** Base URL that a client requested, if its host is a name of this server. */
  const requestedUrl = async (origin: string | null): Promise<string> => {
    const { domains } = await link.settings().catch(() => ({ domains: [] }));
    const public_urls = public_url === null ? [] : [public_url];
    const names = new Set([...allowed_hosts, ...domains]);
    const otherwise = () => public_url ?? local_url;
    return createAddresses({ path: '', public_urls, names: () => names, installation_ports: () => local_ports, otherwise }).at(
      origin,
    );
  };
  const answer = async (request: Request, client: Client): Promise<Response> => {
    const { client_address, request_id } = client;
    const { pathname } = new URL(request.url);
    const path = pathname.length > 1 ? pathname.replace(/\/$/, '') : pathname;
    if (path === '/agent-mcp/health') return Response.json({ status: 'ok', version: PRODUCT_VERSION });
    if (isMetadataPath(path)) {
      const requested_url = await requestedUrl(client.origin);
      const { issuer } = await link.settings();
      const document = metadataDocuments(requested_url, public_url ?? requested_url, issuer).get(path);
      if (document !== undefined) return Response.json(document, { headers: { 'cache-control': 'public, max-age=300' } });
    }
    if (path === REGISTER_PATH && request.method === 'POST') return refuseRegistration();
    if (path === '/agent-mcp/oauth/token') return answerToken(link, request, client_address);
    if (path === '/agent-mcp/oauth/authorize') return answerAuthorize();
    if (!MCP_PATHS.includes(path)) throw new AppError('not_found', 'There is nothing at this address. MCP is at /agent-mcp/mcp.');
    const caller: Caller = { token: bearerOf(request), client_address, request_id };
    // The caller is authorised before the body is read.
    const { id, name, scopes } = await link.authorize(caller, []);
    const body = request.method === 'POST' ? await readBody(request) : undefined;
    const calls = toolsCalledBy(body);
    if (calls.length > 0) await link.authorize(caller, calls);
    return mcp(withOneVersion(request), body, caller, { id, name, scopes });
  };
  const answerAny = async (request: Request, address: string | null, request_id: string): Promise<Response> => {
    // The front port forwards only requests that it has accepted.
    const proxied = isOurs(request.headers, options.service_token);
    const client_address = proxied
      ? request.headers.get('x-client-address')
      : clientAddress(address, request.headers.get('x-forwarded-for'), options.trusted_proxies);
    const origin = requestedOrigin(request.headers, proxied, address, options.trusted_proxies);
    const scheme = forwardedScheme(address, request.headers.get('x-forwarded-proto'), options.trusted_proxies);
    let page: string | null = null;
    let response: Response;
    try {
      const host = requestedHost(request.headers, address, options.trusted_proxies) ?? new URL(request.url).host;
      if (!proxied) page = await enter(request, host, link, allowed_hosts, scheme === 'https');
      const asks = request.method === 'OPTIONS' && page !== null;
      response = asks
        ? preflight(request.headers.get('access-control-request-headers'))
        : await answer(request, { client_address, request_id, origin });
    } catch (error) {
      response = await toFault(error, request, () => requestedUrl(origin), log);
    }
    response.headers.set('x-request-id', request_id);
    if (page !== null) setCors(response.headers, page);
    return response;
  };
  return (request, address) => {
    const given = request.headers.get('x-request-id');
    const request_id = given !== null && /^[\w.-]{1,128}$/.test(given) ? given : Bun.randomUUIDv7();
    return log.during({ request_id }, () => answerAny(request, address, request_id));
  };
}

function bearerOf(request: Request): string {
  const token = /^bearer +(\S+) *$/i.exec(request.headers.get('authorization') ?? '')?.[1];
  if (token === undefined || token.length > LONGEST_ACCESS_TOKEN)
    throw new AppError('unauthenticated', 'Send a token as Authorization: Bearer <token>.');
  return token;
}

async function readBody(request: Request): Promise<unknown> {
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json') throw new AppError('unsupported_media_type', 'Content-Type must be application/json.');
  const text = await readText(request, BODY);
  const body = parsed(text);
  const repeated = repeatedKey(text);
  if (repeated !== null) throw new AppError('bad_request', repeatedKeySentence(repeated));
  return body;
}

function parsed(text: string): unknown {
  try {
    return withoutNulls(JSON.parse(text));
  } catch (cause) {
    throw new AppError('bad_request', 'The body is not valid JSON.', { cause });
  }
}

/** Names of the tools that a request calls. Each counts towards the caller's rate limit. */
function toolsCalledBy(body: unknown): string[] {
  const messages = (Array.isArray(body) ? body : [body]) as ({ method?: unknown; params?: { name?: unknown } } | null)[];
  if (messages.length > 50) throw new AppError('bad_request', 'Send one message per request.');
  return messages.flatMap((message) => {
    if (message?.method !== 'tools/call') return [];
    const name = message.params?.name;
    return [typeof name === 'string' ? name.slice(0, 128) : 'unknown'];
  });
}

async function toFault(error: unknown, request: Request, requestedUrl: () => Promise<string>, log: Log): Promise<Response> {
  const fault = error instanceof AppError ? error : new AppError('internal', INTERNAL);
  if (!(error instanceof AppError)) log.error('request failed', { reason: traceOf(error) });
  const headers = new Headers();
  if (fault.retry_after !== undefined) headers.set('retry-after', String(fault.retry_after));
  if (fault.status === 401) {
    const path = new URL(request.url).pathname.replace(/\/$/, '');
    const shown = MCP_PATHS.includes(path) ? path : '/agent-mcp';
    // RFC 6750 section 3.1: no error code for a request without any credential.
    const invalid = request.headers.has('authorization') ? ', error="invalid_token"' : '';
    const metadata = metadataUrl(await requestedUrl(), shown);
    headers.set('www-authenticate', `Bearer resource_metadata="${metadata}", scope="${DEFAULT_SCOPES.join(' ')}"${invalid}`);
  }
  return Response.json({ detail: fault.detail }, { status: fault.status, headers });
}
