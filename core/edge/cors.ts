const REQUEST_HEADERS =
  'Authorization, Content-Type, Accept, X-Request-Id, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-ID';

/** Headers that let a page of an allowed origin read the answer. No credentials: such a page brings a bearer token. */
export function setCors(headers: Headers, origin: string): void {
  headers.set('access-control-allow-origin', origin);
  headers.append('vary', 'Origin');
  headers.set('access-control-expose-headers', 'X-Request-Id, Retry-After, WWW-Authenticate, Mcp-Session-Id');
}

/**
 * The answer to a preflight, without what `setCors` adds. Headers of tool parameters (`Mcp-Param-…`) are allowed as they are
 * asked for.
 */
export function preflight(asked: string | null, methods = 'GET, POST, DELETE'): Response {
  const names = (asked ?? '').split(',').map((name) => name.trim());
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
