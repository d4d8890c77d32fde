import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import { eq } from 'drizzle-orm';
import type { Context, Hono } from 'hono';
import * as v from 'valibot';
import { readText } from '#core/edge/body.ts';
import { BY_GROUPS, type PlaygroundCaller as Signed, signPlaygroundToken } from '#core/edge/playground-token.ts';
import { PlaygroundCaller } from '#core/contract/definitions/preview.ts';
import { toCaller } from '#core/query/pretended-caller.ts';
import { AppError } from '#core/errors.ts';
import type { Actor } from '#core/context/context.ts';
import { requireRole } from '#core/context/roles.ts';
import { callerAddress, refuseOthers } from '#server/request/bearer.ts';
import type { ServerEnv } from '#server/request/server-env.ts';
import { sessionActor } from '#server/request/session.ts';

export const PLAYGROUND_PATH = '/api/v1/playground/mcp';
/** The caller that the person impersonates, as URL-encoded JSON. */
const CALLER_HEADER = 'x-sluice-caller';
const MOST_CALLER_BYTES = 8_192;
/** Request headers of an MCP client that are forwarded. All others of the browser's request are dropped. */
const PASSED = [
  'accept',
  'authorization',
  'content-type',
  'mcp-protocol-version',
  'mcp-method',
  'mcp-name',
  'mcp-session-id',
  'last-event-id',
];
const PARAMETER = /^mcp-param-[\w-]+$/;
/** The limit of the host. */
const MESSAGE = { max_bytes: 4 * 1024 * 1024, within_ms: 30_000 };
/** Response headers of the host that are returned. */
const ANSWERED = ['allow', 'cache-control', 'content-type', 'mcp-session-id', 'retry-after', 'www-authenticate'];

/**
 * The playground calls the real MCP endpoint of a host, which has another origin than the page. This route forwards the message
 * of a signed-in person unchanged to a connected host, and returns its answer. The request cannot name an address: the host
 * reported its address over the control channel.
 */
export function addPlayground(app: ControlPlane, router: Hono<ServerEnv>): void {
  router.on(['POST', 'DELETE'], PLAYGROUND_PATH, async (c) => {
    // A token in the header is meant for the host, so only the session decides who may use the playground.
    const actor = (await sessionActor(app, c)) ?? (await refuseOthers(app, c, 'Only a signed-in person can use the playground.'));
    requireRole(actor, 'viewer');
    const { id, target } = hostOf(app, c.req.query('host'));
    const body = c.req.method === 'POST' ? await readText(c.req.raw, MESSAGE) : null;
    c.env?.received?.();
    const answer = await fetch(target, {
      method: c.req.method,
      headers: await toHost(app, c, actor),
      redirect: 'manual',
      signal: c.req.raw.signal,
      ...(body === null ? {} : { body }),
    }).catch((cause: unknown) => {
      if (c.req.raw.signal.aborted) throw new AppError('cancelled', 'The caller disconnected.', { cause });
      throw new AppError(
        'unavailable',
        'The host does not answer at its address. If it runs in its own container, set SVC_FASTMCP_HOST to its address.',
        { cause, retry_after: 2 },
      );
    });
    const headers = new Headers({ 'x-sluice-host': id });
    for (const name of ANSWERED) {
      const value = answer.headers.get(name);
      if (value !== null) headers.set(name, value);
    }
    return new Response(answer.body, { status: answer.status, headers });
  });
}

/** @param requested id of a host, since a session continues on the host that opened it. */
function hostOf(app: ControlPlane, requested: string | undefined): { id: string; target: string } {
  const hosts = app.hosts.list().flatMap(({ id, url }) => (url === null || !URL.canParse(url) ? [] : [{ id, url }]));
  const host = requested === undefined ? hosts[0] : hosts.find(({ id }) => id === requested);
  if (host !== undefined) return { id: host.id, target: `${reachable(app, host.url)}/mcp` };
  // Nothing was sent, so a person who did not choose this host can try another one.
  if (requested !== undefined) throw new AppError('not_found', 'That host is no longer connected. Choose another one.');
  throw new AppError('unavailable', 'No host is connected to this server. Start one, or deploy again, then try once more.', {
    retry_after: 2,
  });
}

/** A host that listens on every address, or on loopback only, is reached at the address in the environment. */
function reachable({ env }: ControlPlane, url: string): string {
  const address = new URL(url);
  if (address.hostname === '127.0.0.1') address.hostname = env.SVC_FASTMCP_HOST;
  return address.origin;
}

async function toHost(app: ControlPlane, c: Context<ServerEnv>, actor: Actor): Promise<Headers> {
  const { session_id, name } = actor;
  const headers = new Headers();
  for (const [name, value] of c.req.raw.headers) {
    if (PASSED.includes(name) || PARAMETER.test(name)) headers.set(name, value);
  }
  // A signed-in person needs no access token to try what is deployed. A token in the request is used instead.
  const pretended = readImpersonatedCaller(c.req.header(CALLER_HEADER), actor);
  if (headers.has('authorization')) {
    if (pretended !== null) throw new AppError('invalid', 'The access token already says who calls. Send only one of them.');
  } else if (session_id !== undefined) {
    const caller = pretended ?? (await personAsCaller(app, actor));
    const token = await signPlaygroundToken(app.env.SVC_ENCRYPTION_KEY, { session_id, username: name, caller }, app.clock());
    headers.set('authorization', `Bearer ${token}`);
  }
  // The host then counts failed attempts by the caller's address, not by ours.
  headers.set('x-service-token', app.env.SVC_AGENT_SERVICE_TOKEN);
  const address = callerAddress(app, c);
  if (address !== null) headers.set('x-client-address', address);
  return headers;
}

/** @returns the caller that the person chose to impersonate, or null. It needs the right to preview. */
function readImpersonatedCaller(header: string | undefined, actor: Actor): Signed | null {
  if (header === undefined) return null;
  requireRole(actor, 'editor');
  const parsed = header.length > MOST_CALLER_BYTES ? undefined : v.safeParse(PlaygroundCaller, readJson(header));
  if (parsed?.success !== true) {
    throw new AppError(
      'invalid',
      `${CALLER_HEADER} has to be URL-encoded JSON of at most 8 kB, such as {"sub": "ada", "groups": []}.`,
    );
  }
  const { toolsets = BY_GROUPS, ...caller } = parsed.output;
  return { ...toCaller(caller), toolsets };
}

function readJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(decodeURIComponent(text));
    return Array.isArray(value) ? undefined : value;
  } catch {
    return undefined;
  }
}

/** The same caller that the person's MCP clients have. */
async function personAsCaller({ store }: ControlPlane, { id, name }: Actor): Promise<Signed> {
  const { people } = store.tables;
  const [person] = id === null ? [] : await store.db.select().from(people).where(eq(people.id, id));
  const { display_name = null, email = null, groups = [] } = person ?? {};
  return {
    identity: { sub: id, name: display_name ?? name, email, client_id: null, groups, token: null },
    claims: {},
    toolsets: null,
  };
}
