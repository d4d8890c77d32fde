/** What clients send that means the same as leaving it out or sending it once; strict readers refuse it. */

const PROTOCOL_VERSION = 'MCP-Protocol-Version';

/** The version header without white space; equal copies, which some proxies and clients make, are one. */
export function protocolVersionHeader(headers: Headers): string | null {
  const sent = headers.get(PROTOCOL_VERSION);
  if (sent === null || !sent.includes(',')) return sent?.trim() || null;
  const [version = '', ...copies] = sent.split(',').map((copy) => copy.trim());
  if (copies.every((copy) => copy === version)) return version === '' ? null : version;
  return sent;
}

/** A request whose version header has no copies. */
export function withOneVersion(request: Request): Request {
  const version = protocolVersionHeader(request.headers);
  if (version === null || version === request.headers.get(PROTOCOL_VERSION)) return request;
  const headers = new Headers(request.headers);
  headers.set(PROTOCOL_VERSION, version);
  return new Request(request, { headers });
}

/** Members that may be left out: many clients write null instead. */
const OPTIONAL = ['arguments', 'cursor'];

/** A body whose `params`, and in them `arguments` and `cursor`, are left out where they are null. */
export function withoutNulls(body: unknown): unknown {
  if (Array.isArray(body)) return body.map(withoutNulls);
  if (typeof body !== 'object' || body === null || !('params' in body)) return body;
  const { params, ...rest } = body;
  if (params === null) return rest;
  if (typeof params !== 'object' || Array.isArray(params)) return body;
  const given = Object.entries(params).filter(([name, value]) => value !== null || !OPTIONAL.includes(name));
  return { ...rest, params: Object.fromEntries(given) };
}
