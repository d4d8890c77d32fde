const REQUEST_HEADERS =
  'Authorization, Content-Type, Accept, X-Request-Id, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-ID';

/** Lets a page of an allowed origin read the response. Cookies are not allowed, because such a page sends a bearer token. */
export function setCors(headers: Headers, origin: string): void {
  headers.set('access-control-allow-origin', origin);
  headers.append('vary', 'Origin');
  headers.set('access-control-expose-headers', 'X-Request-Id, Retry-After, WWW-Authenticate, Mcp-Session-Id');
}

/**
 * Answers a preflight request, without the headers from `setCors`. Headers of tool parameters (`Mcp-Param-…`) are allowed on
 * request.
 */
export function preflight(requested_headers: string | null, methods = 'GET, POST, DELETE'): Response {
  const names = (requested_headers ?? '').split(',').map((name) => name.trim());
  const parameters = names.filter((name) => /^mcp-param-[\w-]+$/i.test(name));
  return new Response(null, {
    status: 204,
    headers: {
      'access-control-allow-methods': methods,
      'access-control-allow-headers': [REQUEST_HEADERS, ...parameters].join(', '),
      'access-control-max-age': '600',
    },
  });
}
