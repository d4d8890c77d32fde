import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { AppError } from '#core/errors.ts';
import type { Actor } from '#core/context/context.ts';
import { isSameOrigin } from '#core/edge/origins.ts';
import { authenticate, SESSION_MS } from '#core/identity/sessions.ts';
import { requestedHost } from '#core/edge/requested-address.ts';
import { forwardedScheme } from '#core/edge/client-address.ts';
import type { ServerEnv } from './server-env.ts';

const NAME = 'svc_session';
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS']);

type Edge = Context<ServerEnv>;

/** The scheme that the browser uses, with this server or as a trusted proxy states. Null: not known. */
export function spokenScheme({ env }: ControlPlane, c: Edge): string | null {
  if (c.env?.secure === true || new URL(c.req.url).protocol === 'https:') return 'https';
  return forwardedScheme(c.env?.address ?? null, c.req.header('x-forwarded-proto') ?? null, env.SVC_TRUSTED_PROXIES);
}

/** The host that the browser requested; empty when it named none. */
export const hostOf = ({ env }: ControlPlane, c: Edge): string =>
  requestedHost(c.req.raw.headers, c.env?.address ?? null, env.SVC_TRUSTED_PROXIES) ?? '';

/** Whether the browser uses HTTPS: with this server, as a trusted proxy states, or by the public URL. */
export function isSecure(app: ControlPlane, c: Edge): boolean {
  const { env } = app;
  const spoken = spokenScheme(app, c);
  if (spoken !== null) return spoken === 'https';
  const public_url = env.SVC_PUBLIC_URL === null ? null : new URL(env.SVC_PUBLIC_URL);
  return public_url?.protocol === 'https:' && hostOf(app, c).toLowerCase() === public_url.host;
}

const read = (app: ControlPlane, c: Edge): string | undefined =>
  isSecure(app, c) ? getCookie(c, NAME, 'host') : getCookie(c, NAME);

/**
 * The administrator of the session cookie. An unsafe method with a cookie from another origin is refused (CSRF), and a page of
 * another origin, even one in `cors_origins`, reads nothing with it.
 */
export async function sessionActor(app: ControlPlane, c: Edge): Promise<Actor | null> {
  const token = read(app, c);
  if (token === undefined) return null;
  if (!SAFE.has(c.req.method)) refuseForeign(app, c);
  return isForeignOrigin(app, c) ? null : authenticate(app, token);
}

/** Browsers send Sec-Fetch-Site or Origin with every unsafe request; a client that sends neither is not a browser. */
function refuseForeign(app: ControlPlane, c: Edge): void {
  const site = c.req.header('sec-fetch-site');
  const foreign_site = site !== undefined && site !== 'same-origin' && site !== 'none';
  if (foreign_site || isForeignOrigin(app, c))
    throw new AppError('forbidden', 'This request comes from another site; the session cookie is not accepted.');
}

export function isForeignOrigin(app: ControlPlane, c: Edge): boolean {
  const origin = c.req.header('origin');
  return origin !== undefined && !isSameOrigin(origin, hostOf(app, c), isSecure(app, c));
}

/** Sets the session cookie, or clears it. */
export function writeSession(app: ControlPlane, c: Edge, token: string | null): void {
  const secure = isSecure(app, c);
  if (token === null) {
    deleteCookie(c, secure ? `__Host-${NAME}` : NAME, { path: '/', secure });
    return;
  }
  setCookie(c, NAME, token, {
    path: '/',
    httpOnly: true,
    sameSite: 'Strict',
    secure,
    maxAge: SESSION_MS / 1_000,
    ...(secure ? { prefix: 'host' as const } : {}),
  });
}

const BROWSER = 'svc_browser';
const BROWSER_SECONDS = 3_600;

/**
 * The secret that binds a client's sign-in to this browser; null: none. Unlike the session cookie it is sent when another site
 * links or redirects here (Lax), because an identity provider redirects back.
 */
export function readBrowser(app: ControlPlane, c: Edge): string | null {
  const value = isSecure(app, c) ? getCookie(c, BROWSER, 'host') : getCookie(c, BROWSER);
  return value !== undefined && /^[A-Za-z0-9]{40}$/.test(value) ? value : null;
}

export function writeBrowser(app: ControlPlane, c: Edge, value: string): void {
  const secure = isSecure(app, c);
  setCookie(c, BROWSER, value, {
    path: '/',
    httpOnly: true,
    sameSite: 'Lax',
    secure,
    maxAge: BROWSER_SECONDS,
    ...(secure ? { prefix: 'host' as const } : {}),
  });
}
