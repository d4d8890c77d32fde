import { AppError } from '#core/errors.ts';
import { NO_HOST } from '#core/edge/requests/hostless.ts';
import { hostName, isHostAllowed, isOriginAllowed, isSameOrigin, originRefusal } from '#core/edge/origins.ts';
import type { ServerLink } from './server-link.ts';

/**
 * Checks a request on the agent's port: the Host header must name this server, and the Origin must be absent, match the host, or
 * be in `cors_origins`. The configuration is requested from the server only when it is needed.
 * @param host the host that the client requested.
 * @returns the origin of a foreign page that may read the answer.
 */
export async function enter(
  { headers }: Request,
  host: string,
  link: ServerLink,
  allowed_hosts: ReadonlySet<string>,
  is_https: boolean,
): Promise<string | null> {
  if (!isHostAllowed(host, allowed_hosts) && !isHostAllowed(host, new Set((await link.settings()).domains))) {
    if (hostName(host) === null) throw new AppError('bad_request', NO_HOST);
    throw new AppError('forbidden', 'This host name is not accepted. Add it to SVC_ALLOWED_HOSTS.');
  }
  const origin = headers.get('origin');
  if (origin === null || isSameOrigin(origin, host, is_https)) return null;
  if (!isOriginAllowed(origin, host, is_https, (await link.settings()).cors_origins)) {
    throw new AppError(
      'forbidden',
      originRefusal(origin, (name) => allowed_hosts.has(name)),
    );
  }
  return origin;
}
