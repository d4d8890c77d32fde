/** Paths that health checks and monitoring request, mostly by IP address. */
const PROBES: ReadonlySet<string> = new Set(['/livez', '/readyz', '/metrics', '/health', '/api/health', '/agent-mcp/health']);

/** RFC 9112, section 3.2. */
export const NO_HOST = 'This request has no valid Host header. Send the name or address of this server in it.';

/**
 * Health checks of load balancers such as HAProxy use HTTP/1.0 without a Host header, so Bun only knows the request's path. A
 * probe is answered as if it came from this machine; any other request is refused.
 */
export function withHost(request: Request): Request | Response {
  const { url, method, headers } = request;
  if (URL.canParse(url)) return request;
  // An invalid Host header could mislead a proxy in front of Sluice.
  if ((headers.get('host') ?? '') !== '' || !isHostlessProbe(method, url))
    return Response.json({ detail: NO_HOST }, { status: 400 });
  const named = new Headers(headers);
  named.set('host', 'localhost');
  return new Request(`http://localhost${url}`, { method, headers: named });
}

/** @param url path and query. */
export const isHostlessProbe = (method: string, url: string): boolean =>
  (method === 'GET' || method === 'HEAD') && PROBES.has(url.split('?', 1)[0] ?? '');
