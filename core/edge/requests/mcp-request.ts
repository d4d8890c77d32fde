/** Normalizes harmless variants in clients' requests that strict parsers refuse: null members and repeated headers. */

const PROTOCOL_VERSION = 'MCP-Protocol-Version';

/** The trimmed version header. Equal copies, which some proxies and clients send, count as one. */
export function protocolVersionHeader(headers: Headers): string | null {
  const sent = headers.get(PROTOCOL_VERSION);
  if (sent === null || !sent.includes(',')) return sent?.trim() || null;
  const [version = '', ...copies] = sent.split(',').map((copy) => copy.trim());
  if (copies.every((copy) => copy === version)) return version === '' ? null : version;
  return sent;
}

/** Removes copies from the version header of a request. */
export function withOneVersion(request: Request): Request {
  const version = protocolVersionHeader(request.headers);
  if (version === null || version === request.headers.get(PROTOCOL_VERSION)) return request;
  const headers = new Headers(request.headers);
  headers.set(PROTOCOL_VERSION, version);
  return new Request(request, { headers });
}

/** Optional members that many clients send as null. */
const OPTIONAL = ['arguments', 'cursor'];

/** Removes `params`, `arguments` and `cursor` from a body where they are null. */
export function withoutNulls(body: unknown): unknown {
  if (Array.isArray(body)) return body.map(withoutNulls);
  if (typeof body !== 'object' || body === null || !('params' in body)) return body;
  const { params, ...rest } = body;
  if (params === null) return rest;
  if (typeof params !== 'object' || Array.isArray(params)) return body;
  const given = Object.entries(params).filter(([name, value]) => value !== null || !OPTIONAL.includes(name));
  return { ...rest, params: Object.fromEntries(given) };
}
