import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import type { Context, Hono } from 'hono';
import { AppError } from '#core/errors.ts';
import { requireAgents } from '#core/identity/agent-bearers.ts';
import { REQUESTED_ORIGIN, requestedOrigin } from '#core/edge/requested-address.ts';
import { DEFINITION_KEYS_PATH, SSE_PATH } from '#core/edge/mcp-endpoint.ts';
import { publishedKeys } from '#core/deploy/signing/keys.ts';
import { refuseRegistration, REGISTER_PATH } from '#core/edge/registration.ts';
import { clientAddress } from '#core/edge/client-address.ts';
import { type Front, MCP_PATHS } from './front.ts';
import type { ServerEnv } from '#server/request/server-env.ts';
import { spokenScheme } from '#server/request/session.ts';

/** Headers that belong to one connection (RFC 9110, section 7.6.1), or to this server alone. */
const DROPPED = [
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'proxy-authorization',
  'host',
  // Checked at the entrance; the target does not know the list of origins.
  'origin',
  'cookie',
  'x-service-token',
  'x-client-address',
  REQUESTED_ORIGIN,
];
const WELL_KNOWN = ['oauth-protected-resource', 'oauth-authorization-server'];

/** `/agent-mcp/…` and its metadata go to the agent as streams; the agent learns the caller's address. */
export function addAgentProxy(app: ControlPlane, router: Hono<ServerEnv>): void {
  const target = app.env.SVC_AGENT_MCP_URL ?? `http://127.0.0.1:${app.env.SVC_AGENT_MCP_PORT}`;
  const forward = (c: Context<ServerEnv>) => proxy(app, c, target, 'The agent endpoint');
  const guarded = async (c: Context<ServerEnv>) => {
    if (c.req.path !== '/agent-mcp/health') await requireAgents(app);
    return forward(c);
  };
  router.all('/agent-mcp', guarded);
  router.all('/agent-mcp/*', guarded);
  for (const name of WELL_KNOWN) {
    router.get(`/.well-known/${name}/agent-mcp`, forward);
    router.get(`/.well-known/${name}/agent-mcp/*`, forward);
  }
}

/** With `mcp_proxy` the MCP server answers here too, and its metadata (RFC 9728, RFC 8414) at the root of its domain. */
export function addMcpProxy(app: ControlPlane, router: Hono<ServerEnv>, front: Front): void {
  const forward = async (c: Context<ServerEnv>) => {
    const { mcp_proxy, mcp_port } = await front.settings();
    if (!mcp_proxy)
      throw new AppError(
        'not_found',
        'MCP is not served at this address. Turn on mcp_proxy, or use the address of the MCP host.',
      );
    const host = app.env.SVC_FASTMCP_HOST;
    return proxy(app, c, `http://${host.includes(':') ? `[${host}]` : host}:${mcp_port}`, 'The MCP server');
  };
  // The server has the keys itself, so they do not depend on a host.
  router.get(DEFINITION_KEYS_PATH, async (c) =>
    c.body(JSON.stringify({ keys: await publishedKeys(app) }), 200, {
      'content-type': 'application/jwk-set+json',
      'cache-control': 'public, max-age=300',
    }),
  );
  for (const path of MCP_PATHS) router.all(path, forward);
  for (const name of WELL_KNOWN) {
    router.get(`/.well-known/${name}/mcp`, forward);
    router.get(`/.well-known/${name}/mcp/*`, forward);
  }
  router.get(`/.well-known/oauth-protected-resource${SSE_PATH}`, forward);
  const at_root = async (c: Context<ServerEnv>) => ((await front.isMcpDomain(c)) ? forward(c) : c.notFound());
  // Clients that read the metadata only at the root mean the MCP endpoint, even on the domain of the UI.
  router.get('/.well-known/oauth-protected-resource', async (c) =>
    (await front.settings()).mcp_proxy ? forward(c) : c.notFound(),
  );
  router.get('/.well-known/oauth-authorization-server', at_root);
  router.post('/oauth/token', at_root);
  // Clients of both endpoints register at the root of the port.
  router.post(REGISTER_PATH, refuseRegistration);
}

/** Streams the body. Once it is read, the idle timeout is suspended, because a call may take long. */
function passed({ req, env }: Context<ServerEnv>): ReadableStream<Uint8Array> | null {
  const { body } = req.raw;
  if (req.method !== 'GET' && req.method !== 'HEAD' && body !== null) {
    return body.pipeThrough(new TransformStream<Uint8Array, Uint8Array>({ flush: () => env?.received?.() }));
  }
  env?.received?.();
  return null;
}

async function proxy(app: ControlPlane, c: Context<ServerEnv>, target: string, name: string): Promise<Response> {
  const { pathname, search } = new URL(c.req.url);
  const headers = new Headers(c.req.raw.headers);
  for (const name of DROPPED) headers.delete(name);
  headers.set('x-service-token', app.env.SVC_AGENT_SERVICE_TOKEN);
  headers.set('x-request-id', c.get('request_id'));
  const requested = requestedOrigin(c.req.raw.headers, false, c.env?.address ?? null, app.env.SVC_TRUSTED_PROXIES);
  const scheme = spokenScheme(app, c) === 'https' ? 'https:' : 'http:';
  const origin = requested?.replace(/^https?:/, scheme) ?? app.env.SVC_PUBLIC_URL;
  if (origin !== null) headers.set(REQUESTED_ORIGIN, origin);
  const address = clientAddress(c.env?.address ?? null, c.req.header('x-forwarded-for') ?? null, app.env.SVC_TRUSTED_PROXIES);
  if (address !== null) headers.set('x-client-address', address);
  // The body is forwarded as it arrives, so its encoding must be one that the caller knows.
  if (!headers.has('accept-encoding')) headers.set('accept-encoding', 'identity');
  const body = passed(c);
  const answer = await fetch(`${target}${pathname}${search}`, {
    method: c.req.method,
    headers,
    redirect: 'manual',
    decompress: false,
    signal: c.req.raw.signal,
    ...(body === null ? {} : { body, duplex: 'half' }),
  }).catch((cause: unknown) => {
    if (c.req.raw.signal.aborted) throw new AppError('cancelled', 'The caller disconnected.', { cause });
    throw new AppError('unavailable', `${name} does not answer. It starts within seconds. Try again.`, {
      cause,
      retry_after: 2,
    });
  });
  const forwarded = new Headers(answer.headers);
  for (const name of ['content-length', 'transfer-encoding', 'connection', 'keep-alive']) forwarded.delete(name);
  return new Response(answer.body, { status: answer.status, headers: forwarded });
}
