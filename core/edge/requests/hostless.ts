/** What machines ask for, mostly by address. */
const PROBES: ReadonlySet<string> = new Set(['/livez', '/readyz', '/metrics', '/health', '/api/health', '/agent-mcp/health']);

/** RFC 9112, section 3.2. */
export const NO_HOST = 'This request has no valid Host header. Send the name or address of this server in it.';

/**
 * Health checks of load balancers, such as HAProxy's, come in HTTP/1.0 without a Host. Bun knows only the path of such a request: a
 * probe goes on as if this machine asked, anything else is refused.
 */
export function withHost(request: Request): Request | Response {
  const { url, method, headers } = request;
  if (!url.startsWith('/')) return request;
  // One that is there and no host may mislead what stands before us.
  if ((headers.get('host') ?? '') !== '' || !isHostlessProbe(method, url))
    return Response.json({ detail: NO_HOST }, { status: 400 });
  const named = new Headers(headers);
  named.set('host', 'localhost');
  return new Request(`http://localhost${url}`, { method, headers: named });
}

/** @param url path and query. */
export const isHostlessProbe = (method: string, url: string): boolean =>
  (method === 'GET' || method === 'HEAD') && PROBES.has(url.split('?', 1)[0] ?? '');
