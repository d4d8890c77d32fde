import type { Network } from '#core/process/env/settings.ts';
import { clientAddress, forwardedScheme } from '#core/edge/client-address.ts';
import { isOurs } from '#core/edge/service-token.ts';
import type { Peer } from '#mcp-host/runtime/types.ts';
import { eventOf, eventResponse } from '#mcp-host/protocol/replies.ts';

/** Whether a client accepts events but no JSON. All other clients get JSON. */
export function wantsEvents(request: Request): boolean {
  const accept = request.headers.get('accept');
  return accept !== null && accept.includes('text/event-stream') && !/application\/(?:json|\*)|\*\/\*/.test(accept);
}

export async function asEvent(response: Response): Promise<Response> {
  if (response.status !== 200 || response.headers.get('content-type') !== 'application/json') return response;
  return eventResponse(eventOf(await response.text()), new Headers(response.headers));
}

/** Bun sets the URL of a request without a valid Host to its path. */
export const isRelative = (url: string): boolean => url.charCodeAt(0) === SLASH;
const SLASH = 0x2f;

export const hostOf = (url: string): string => (isRelative(url) ? '' : new URL(url).host);

/** The path of a URL without its query, without the cost of a URL object. */
export function pathOf(url: string): string {
  const start = isRelative(url) ? 0 : url.indexOf('/', url.indexOf('//') + 2);
  const end = url.indexOf('?', start);
  return start < 0 ? '/' : url.slice(start, end < 0 ? undefined : end);
}

/** What stands in front of the host. */
interface Front {
  readonly service_token: string;
  readonly trusted_proxies: readonly Network[];
}

/** Whether a trusted proxy states that the client uses HTTPS; the host itself has no TLS. */
export const isHttps = ({ headers }: Request, peer: Peer, { trusted_proxies }: Pick<Front, 'trusted_proxies'>): boolean =>
  forwardedScheme(peer.address(), headers.get('x-forwarded-proto'), trusted_proxies) === 'https';

/** The caller's address: stated by the installation's front port or a trusted proxy, else that of the socket. */
export function addressOf({ headers }: Request, socket_address: string, { service_token, trusted_proxies }: Front): string {
  const stated = isOurs(headers, service_token) ? headers.get('x-client-address') : null;
  return stated ?? clientAddress(socket_address, headers.get('x-forwarded-for'), trusted_proxies) ?? socket_address;
}
