const REQUEST_HEADERS =
  'Authorization, Content-Type, Accept, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-ID';

/** Headers that let a page of an allowed origin read the answer. */
export function setCors(headers: Headers, origin: string): void {
  headers.set('access-control-allow-origin', origin);
  headers.append('vary', 'Origin');
  headers.set('access-control-expose-headers', 'Mcp-Session-Id, WWW-Authenticate, Retry-After');
}

/** The answer to a preflight; headers of tool parameters (`Mcp-Param-…`) are allowed as they are asked for. */
export function preflight(request: Request, origin: string): Response {
  const asked = (request.headers.get('access-control-request-headers') ?? '').split(',').map((name) => name.trim());
  const parameters = asked.filter((name) => /^mcp-param-[\w-]+$/i.test(name));
  const response = new Response(null, { status: 204 });
  setCors(response.headers, origin);
  response.headers.set('access-control-allow-methods', 'GET, POST, DELETE');
  response.headers.set('access-control-allow-headers', [REQUEST_HEADERS, ...parameters].join(', '));
  response.headers.set('access-control-max-age', '600');
  return response;
}
