import type { Registry } from '#mcp-host/registry/registry.ts';
import type { LeafKind } from '#core/contract/entities.ts';
import type { Leaf } from '#snapshots/format/tree.ts';
import { endpointOf, type Endpoint, WHOLE } from '#core/edge/mcp-endpoint.ts';

/** What is served, by hashes: a client or CI tells whether a definition is still the one that it knows. */

const PATH = '/.well-known/mcp-definitions';
const FOLDERS: Partial<Record<LeafKind, string>> = { tool: 'tools', resource: 'resources', prompt: 'prompts' };

export const isDefinitionsPath = (path: string): boolean => path === PATH || path.startsWith(`${PATH}/`);

/** The part whose definitions a path lists, as the paths of other metadata name it: `…/mcp/sales` for `/mcp/sales`. Null: none. */
export function definitionsAt(path: string): Endpoint | null {
  const rest = path.slice(PATH.length);
  if (rest === '' || rest === '/mcp') return WHOLE;
  return rest.startsWith('/mcp/') ? endpointOf(rest.slice('/mcp'.length)) : null;
}

const texts = new WeakMap<Registry, string>();

/** @param seen what the caller sees of what is served. */
export function definitionsAnswer(request: Request, seen: Registry): Response {
  const { method, headers } = request;
  if (method !== 'GET') return Response.json({ detail: 'Use GET.' }, { status: 405, headers: { allow: 'GET' } });
  const text = texts.get(seen) ?? definitionsOf(seen);
  texts.set(seen, text);
  const etag = `"${seen.snapshot_id}"`;
  const own = { 'cache-control': 'private, no-cache', etag, vary: 'authorization' };
  if (headers.get('if-none-match') === etag) return new Response(null, { status: 304, headers: own });
  return new Response(text, { headers: { ...own, 'content-type': 'application/json' } });
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
