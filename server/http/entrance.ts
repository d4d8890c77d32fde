import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import type { MiddlewareHandler } from 'hono';
import { AppError } from '#core/errors.ts';
import { isPlainText } from '#core/process/issues.ts';
import { preflight, setCors } from '#core/edge/cors.ts';
import { acceptedHostNames } from '#core/edge/accepted-names.ts';
import { NO_HOST } from '#core/edge/requests/hostless.ts';
import { hostName, isHostAllowed, isOriginAllowed, originRefusal } from '#core/edge/origins.ts';
import { readSettings } from '#core/settings/settings.ts';
import { isAgent } from '#server/request/bearer.ts';
import type { ServerEnv } from '#server/request/server-env.ts';
import { isOpenToPages } from '#server/request/open-paths.ts';
import { hostOf, isForeignOrigin, isSecure } from '#server/request/session.ts';

const METHODS = 'GET, POST, PATCH, DELETE';

/**
 * Rejects requests whose Host header does not name this server, or whose Origin is another site that is not listed. A changed
 * list applies to the next request, and only requests that need the list read it.
 */
export function entrance(app: ControlPlane): MiddlewareHandler<ServerEnv> {
  const names = acceptedHostNames(app.env);
  return async (c, next) => {
    const host = hostOf(app, c);
    // Sluice's programs may use internal names, such as that of a container. A page cannot send their token.
    const is_ours = c.req.header('origin') === undefined && isAgent(app, c);
    if (!is_ours && !isHostAllowed(host, names) && !isHostAllowed(host, await domains(app))) {
      if (hostName(host) === null) throw new AppError('bad_request', NO_HOST);
      throw new AppError('forbidden', 'This host name is not accepted. Add it to SVC_ALLOWED_HOSTS.');
    }
    const origin = c.req.header('origin');
    if (origin === undefined || !isForeignOrigin(app, c)) return next();
    if (isOpenToPages(c.req.path)) {
      if (c.req.method === 'OPTIONS') c.res = preflight(c.req.header('access-control-request-headers') ?? null, METHODS);
      else await next();
      setCors(c.res.headers, '*');
      return;
    }
    // The control channel is for programs, never for pages.
    const listed = c.req.path.startsWith('/api/internal/') ? [] : (await readSettings(app)).settings.cors_origins;
    if (!isOriginAllowed(origin, host, isSecure(app, c), listed)) {
      throw new AppError(
        'forbidden',
        originRefusal(origin, (name) => names.has(name)),
      );
    }
    if (c.req.method === 'OPTIONS') c.res = preflight(c.req.header('access-control-request-headers') ?? null, METHODS);
    else await next();
    setCors(c.res.headers, origin);
  };
}

async function domains(app: ControlPlane): Promise<ReadonlySet<string>> {
  const { ui_domain, mcp_domain } = (await readSettings(app)).settings;
  return new Set([ui_domain, mcp_domain].filter((name) => name !== null));
}

/**
 * Refuses addresses with a NUL character, which no store accepts. Operations of the contract refuse it at the field that has it.
 */
export const refuseNulInAddress: MiddlewareHandler<ServerEnv> = async (c, next) => {
  const { pathname, searchParams } = new URL(c.req.url);
  if (!isPlainText(decodeLoosely(pathname))) throw new AppError('not_found', 'There is nothing at this address.');
  for (const pair of searchParams) {
    if (!pair.every(isPlainText)) throw new AppError('bad_request', 'The address contains a NUL character; remove it.');
  }
  await next();
};

function decodeLoosely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text.replaceAll('%00', '\0');
  }
}
