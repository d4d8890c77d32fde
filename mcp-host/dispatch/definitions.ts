import type { Registry } from '#mcp-host/registry/registry.ts';
import type { LeafKind } from '#core/contract/entities.ts';
import type { Leaf } from '#snapshots/format/tree.ts';
import { endpointOf, type Endpoint, WHOLE } from '#core/edge/mcp-endpoint.ts';

/** Hashes of the served definitions, with which a client or CI detects a changed definition. */

const PATH = '/.well-known/mcp-definitions';
const FOLDERS: Partial<Record<LeafKind, string>> = { tool: 'tools', resource: 'resources', prompt: 'prompts' };

export const isDefinitionsPath = (path: string): boolean => path === PATH || path.startsWith(`${PATH}/`);

/** The endpoint whose definitions a path lists, written like other metadata paths: `…/mcp/sales` for `/mcp/sales`. Null: none. */
export function definitionsAt(path: string): Endpoint | null {
  const rest = path.slice(PATH.length);
  if (rest === '' || rest === '/mcp') return WHOLE;
  return rest.startsWith('/mcp/') ? endpointOf(rest.slice('/mcp'.length)) : null;
}

const texts = new WeakMap<Registry, string>();

/** @param seen the caller's view of the served registry. */
export function definitionsAnswer(request: Request, seen: Registry): Response {
  const { method, headers } = request;
  if (method !== 'GET') return Response.json({ detail: 'Use GET.' }, { status: 405, headers: { allow: 'GET' } });
  const text = texts.get(seen) ?? definitionsOf(seen);
  texts.set(seen, text);
  const etag = `"${seen.snapshot_id}"`;
  const cache_headers = { 'cache-control': 'private, no-cache', etag, vary: 'authorization' };
  if (headers.get('if-none-match') === etag) return new Response(null, { status: 304, headers: cache_headers });
  return new Response(text, { headers: { ...cache_headers, 'content-type': 'application/json' } });
}

function definitionsOf({ snapshot_version, checksum, loaded }: Registry): string {
  const named = [...loaded.keys()].flatMap((leaf): [string, string][] => {
    const folder = FOLDERS[leaf.kind];
    return folder === undefined ? [] : [[`${folder}/${leaf.name}`, hexOf(leaf)]];
  });
  const sorted = named.toSorted(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify({ snapshot_version, checksum, definitions: Object.fromEntries(sorted) });
}

const hexOf = ({ hash }: Leaf): string => Buffer.from(hash, 'base64url').toString('hex');
