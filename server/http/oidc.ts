import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import type { Context, Hono } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import { CALLBACK_PATH } from '#core/contract/identity/identity-providers.ts';
import { AppError, asFault, invalidField } from '#core/errors.ts';
import { hostName, isLoopbackName } from '#core/edge/origins.ts';
import { localPath, finishSignIn, SIGN_IN_MS, startSignIn } from '#core/identity/providers/sign-in.ts';
import { publicUrl } from '#core/settings/public-urls.ts';
import type { Context as HandlerContext } from '#core/context/context.ts';
import { callerAddress } from '#server/request/bearer.ts';
import type { ServerEnv } from '#server/request/server-env.ts';
import { hostOf, isSecure, sessionActor, writeSession } from '#server/request/session.ts';

type Edge = Context<ServerEnv>;

export const START_PATH = '/api/v1/auth/oidc/{id}/start';
const COOKIE = 'svc_oidc';
const INVITATION = 'svc_invitation';
const QUERY = new Set(['return_to', 'link', 'moved', 'invite', 'fresh']);

/** The two addresses that a browser visits to sign in through a provider. They redirect and send no JSON. */
export function addOidc(app: ControlPlane, router: Hono<ServerEnv>): void {
  router.get(CALLBACK_PATH, (c) => visit(app, c, '/', () => finish(app, c)));
  router.get(START_PATH.replace('{id}', ':id'), (c) => {
    const return_to = localPath(c.req.query('return_to') ?? '/') ?? '/';
    return visit(app, c, return_to, () => start(app, c));
  });
}

async function start(app: ControlPlane, c: Edge): Promise<Response> {
  const { searchParams } = new URL(c.req.url);
  for (const name of searchParams.keys()) {
    if (!QUERY.has(name)) throw invalidField(name, `${name} is not a query parameter of this operation.`);
  }
  const base = await baseOf(app, c);
  // The cookie belongs to the host that the provider sends the browser back to.
  const moved = searchParams.get('moved') === 'true';
  if (!moved && new URL(base).host !== hostOf(app, c).toLowerCase()) {
    searchParams.set('moved', 'true');
    return c.redirect(`${base}${new URL(c.req.url).pathname}?${searchParams}`, 302);
  }
  const context = await contextOf(app, c);
  const { location, browser, invitation } = await startSignIn(context, {
    provider_id: c.req.param('id') ?? '',
    return_to: searchParams.get('return_to') ?? undefined,
    link: searchParams.get('link') === 'true',
    fresh: searchParams.get('fresh') === 'true',
    invite: searchParams.get('invite') ?? undefined,
    browser: readCookie(app, c, COOKIE),
    base,
  });
  keepCookie(app, c, COOKIE, browser);
  if (invitation !== null) keepCookie(app, c, INVITATION, invitation);
  return c.redirect(location, 302);
}

async function finish(app: ControlPlane, c: Edge): Promise<Response> {
  const context = await contextOf(app, c);
  const { return_to, token, refusal } = await finishSignIn(
    context,
    new URL(c.req.url).searchParams,
    readCookie(app, c, COOKIE),
    readCookie(app, c, INVITATION),
  );
  if (refusal !== null) return refuse(c, refusal, return_to);
  if (token !== null) writeSession(app, c, token);
  return c.redirect(return_to, 303);
}

/** Faults lead pages to the sign-in page, which shows them. Programs get the usual error body. */
async function visit(app: ControlPlane, c: Edge, return_to: string, work: () => Promise<Response>): Promise<Response> {
  // HEAD reaches GET routes, and a prefetch must neither begin nor end a sign-in.
  if (c.req.method === 'HEAD') return c.body(null, 204);
  c.header('cache-control', 'no-store');
  try {
    return await work();
  } catch (error) {
    const fault = asFault(error);
    app.log.info('a sign-in through an identity provider was refused', { reason: fault.detail });
    return refuse(c, fault, return_to);
  }
}

function refuse(c: Edge, fault: AppError, return_to: string): Response {
  if (!(c.req.header('accept') ?? '').includes('text/html')) throw fault;
  const query = new URLSearchParams({ refused: fault.reason ?? fault.code, next: return_to });
  return c.redirect(`/login?${query}`, 303);
}

const readCookie = (app: ControlPlane, c: Edge, name: string): string | undefined =>
  isSecure(app, c) ? getCookie(c, name, 'host') : getCookie(c, name);

function keepCookie(app: ControlPlane, c: Edge, name: string, value: string): void {
  const secure = isSecure(app, c);
  setCookie(c, name, value, {
    path: '/',
    httpOnly: true,
    // The provider redirects from another site, where browsers omit Strict cookies.
    sameSite: 'Lax',
    secure,
    maxAge: SIGN_IN_MS / 1_000,
    ...(secure ? { prefix: 'host' as const } : {}),
  });
}

async function contextOf(app: ControlPlane, c: Edge): Promise<HandlerContext<ControlPlane>> {
  return {
    app,
    actor: await sessionActor(app, c),
    ip: callerAddress(app, c),
    user_agent: c.req.header('user-agent') ?? null,
    request_id: c.get('request_id'),
    signal: c.req.raw.signal,
  };
}

/** The base URL that the provider redirects to. Without a configured one, the Host header is trusted for loopback names only. */
async function baseOf(app: ControlPlane, c: Edge): Promise<string> {
  const configured = await publicUrl(app);
  if (configured !== null) return configured;
  const host = hostOf(app, c).toLowerCase();
  const name = hostName(host);
  if (name !== null && isLoopbackName(name)) return `${isSecure(app, c) ? 'https' : 'http'}://${host}`;
  throw new AppError(
    'unavailable',
    'Set SVC_PUBLIC_URL to the address of this server, so that identity providers can send people back.',
  );
}
