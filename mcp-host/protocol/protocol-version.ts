import { protocolVersionHeader } from '#core/edge/requests/mcp-request.ts';
import { isMembers, LEGACY_VERSIONS, META, MODERN_VERSION, RPC, RpcError, type Members, type RpcMessage } from './messages.ts';

/** The protocol of a message: the stateless revision, or one with sessions, with its version if a header names it. */
export type ProtocolVersion =
  | { readonly modern: true; readonly client: string }
  | { readonly modern: false; readonly version: string | null };

/** The body member that `Mcp-Name` repeats (2026-07-28, Standard Request Headers). */
const NAMED_BY: Readonly<Record<string, string>> = { 'tools/call': 'name', 'prompts/get': 'name', 'resources/read': 'uri' };
const HEADERS = { version: 'MCP-Protocol-Version', method: 'Mcp-Method', name: 'Mcp-Name' };

/**
 * The body decides: an envelope in `_meta` means the stateless revision, whose headers must then agree (2026-07-28, Server
 * Validation). Throws RpcError with the status of its reply.
 */
export function protocolVersionOf(message: RpcMessage, headers: Headers): ProtocolVersion {
  const { method, params, id } = message;
  const version = protocolVersionHeader(headers);
  const meta = isMembers(params['_meta']) ? params['_meta'] : {};
  if (!Object.hasOwn(meta, META.version)) return withoutEnvelope(message, meta, version);

  const claimed = meta[META.version];
  if (id !== undefined || typeof claimed !== 'string') checkEnvelope(meta);
  if (version !== null && version !== claimed) throw mismatch(HEADERS.version, 'differs from the version in the body’s _meta');
  const named = header(headers, HEADERS.method);
  if (named !== null && named !== method) throw mismatch(HEADERS.method, 'differs from the body’s method');
  if (claimed !== MODERN_VERSION) throw unsupported(String(claimed));
  if (id !== undefined) {
    if (version === null) throw mismatch(HEADERS.version, 'is missing');
    if (named === null) throw mismatch(HEADERS.method, 'is missing');
    checkName(method, params, headers);
  }
  return { modern: true, client: clientName(meta[META.client]) };
}

function withoutEnvelope({ method, id }: RpcMessage, meta: Members, version: string | null): ProtocolVersion {
  if (version !== MODERN_VERSION) {
    if (version !== null && method !== 'initialize' && !LEGACY_VERSIONS.includes(version)) throw unsupported(version);
    return { modern: false, version };
  }
  if (method === 'initialize') throw mismatch(HEADERS.version, `names ${version}, which has no initialize`);
  if (id !== undefined) checkEnvelope(meta);
  return { modern: true, client: '' };
}

function checkEnvelope(meta: Members): void {
  const faults: string[] = [];
  if (typeof meta[META.version] !== 'string') faults.push(META.version);
  if (!isMembers(meta[META.capabilities])) faults.push(META.capabilities);
  if (meta[META.client] !== undefined && !isMembers(meta[META.client])) faults.push(META.client);
  if (faults.length === 0) return;
  throw new RpcError(RPC.invalid_params, `_meta lacks, or has in a wrong form: ${faults.join(', ')}.`, { http_status: 400 });
}

/** The value of `Mcp-Name` for a message, in plain text; null when it has none. */
export function decodedName(method: string, params: Members): string | null {
  const member = Object.hasOwn(NAMED_BY, method) ? NAMED_BY[method] : undefined;
  const value = member === undefined ? undefined : params[member];
  return typeof value === 'string' ? value : null;
}

function checkName(method: string, params: Members, headers: Headers): void {
  const value = decodedName(method, params);
  if (value === null) return;
  const named = header(headers, HEADERS.name);
  if (named === null) throw mismatch(HEADERS.name, 'is missing');
  if (decodeSentinel(named) !== value) throw mismatch(HEADERS.name, `differs from the body’s params.${NAMED_BY[method]}`);
}

/** A value that is not plain ASCII travels as `=?base64?…?=` (2026-07-28, Value Encoding). Null: not valid Base64. */
function decodeSentinel(value: string): string | null {
  if (!value.startsWith('=?base64?') || !value.endsWith('?=')) return value;
  const encoded = value.slice('=?base64?'.length, -'?='.length);
  return /^[A-Za-z0-9+/]*={0,2}$/.test(encoded) ? Buffer.from(encoded, 'base64').toString('utf8') : null;
}

const header = (headers: Headers, name: string): string | null => headers.get(name)?.trim() ?? null;
const mismatch = (name: string, fault: string) =>
  new RpcError(RPC.header_mismatch, `Header mismatch: ${name} ${fault}.`, { http_status: 400 });
const unsupported = (requested: string) =>
  new RpcError(RPC.unsupported_version, 'Unsupported protocol version.', {
    http_status: 400,
    data: { supported: [MODERN_VERSION], requested: requested.slice(0, 64) },
  });

/** Throws for a revision with sessions that is older than the setting. @param least undefined while the setting has its default. */
export function checkMinimum(version: string, least: string | undefined): void {
  if (least === undefined || version >= least) return;
  const supported = [MODERN_VERSION, ...LEGACY_VERSIONS].filter((known) => known >= least);
  throw new RpcError(RPC.unsupported_version, `This server requires MCP version ${least} or newer.`, {
    http_status: 400,
    data: { supported, requested: version },
  });
}

/** Name and version that a client states, for the request log. */
export function clientName(info: unknown): string {
  if (!isMembers(info) || typeof info['name'] !== 'string') return '';
  const version = typeof info['version'] === 'string' ? `/${info['version']}` : '';
  return `${info['name']}${version}`.slice(0, 128);
}
