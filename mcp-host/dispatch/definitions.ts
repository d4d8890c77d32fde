import type { Registry } from '#mcp-host/registry/registry.ts';
import type { SignedList, SignedListsEvent } from '#core/contract/deploy/signed-lists.ts';
import type { Leaf } from '#snapshots/format/tree.ts';
import {
  byName,
  definitionLeaf,
  definitionName,
  hexOf,
  type ListedDefinition,
  listingHash,
} from '#snapshots/format/definition-list.ts';
import { hiddenHashes, merkleRoot } from '#snapshots/format/merkle.ts';
import { candidateAt, DEFINITIONS_PATH as PATH, endpointOf, type Endpoint, WHOLE } from '#core/edge/mcp-endpoint.ts';

/** Hashes of the served definitions, with which a client or CI detects a changed definition, and who signed them. */

export const isDefinitionsPath = (path: string): boolean => path === PATH || path.startsWith(`${PATH}/`);

/** The endpoint whose definitions a path lists, written like other metadata paths: `…/mcp/sales` for `/mcp/sales`. Null: none. */
export function definitionsAt(path: string): Endpoint | null {
  const rest = path.slice(PATH.length);
  if (rest === '' || rest === '/mcp') return WHOLE;
  if (!rest.startsWith('/mcp/')) return null;
  return endpointOf(rest.slice('/mcp'.length)) ?? candidateAt(rest.slice('/mcp'.length));
}

/** The signatures that the server sent; absent: this host has no server. */
export interface Signatures {
  find(list: string, snapshot: Pick<Registry, 'snapshot_version' | 'checksum'>): SignedList | null;
  keys(): SignedListsEvent['keys'];
}

/** What a view of the definitions is a part of. */
export interface DefinitionsView {
  /** The caller's view. */
  readonly seen: Registry;
  readonly endpoint: Endpoint;
  /** The registry of the view, with what is hidden from the caller. */
  readonly whole: Registry;
}

/** Texts by view, with the signature that they contain. */
const texts = new WeakMap<Registry, { readonly signed: SignedList | null; readonly text: string }>();

export function definitionsAnswer(request: Request, view: DefinitionsView, signatures: Signatures | undefined): Response {
  const { method, headers } = request;
  if (method !== 'GET') return useGet();
  const { seen, endpoint } = view;
  const signed = signatures?.find(listOf(endpoint), seen) ?? null;
  const known = texts.get(seen);
  const text = known !== undefined && known.signed === signed ? known.text : definitionsOf(view, signed);
  texts.set(seen, { signed, text });
  const etag = `"${[seen.snapshot_id, ...(signed === null ? [] : [signed.signature.slice(-16)])].join('-')}"`;
  const cache_headers = { 'cache-control': 'private, no-cache', etag, vary: 'authorization' };
  if (headers.get('if-none-match') === etag) return new Response(null, { status: 304, headers: cache_headers });
  return new Response(text, { headers: { ...cache_headers, 'content-type': 'application/json' } });
}

export function definitionKeysAnswer({ method }: Request, signatures: Signatures | undefined): Response {
  if (method !== 'GET') return useGet();
  return new Response(JSON.stringify({ keys: signatures?.keys() ?? [] }), {
    headers: { 'content-type': 'application/jwk-set+json', 'cache-control': 'public, max-age=300' },
  });
}

const useGet = () => Response.json({ detail: 'Use GET.' }, { status: 405, headers: { allow: 'GET' } });

/** The name of the signed list that an endpoint shows, or a part of. */
const listOf = ({ toolset, candidate }: Endpoint): string => toolset ?? (candidate === null ? '' : `candidate/${candidate}`);

function definitionsOf(view: DefinitionsView, signed: SignedList | null): string {
  const { seen, whole, endpoint } = view;
  const { snapshot_version, checksum } = seen;
  const shown = definitionsIn(seen);
  const members = (read: (one: ListedDefinition) => string) => Object.fromEntries(shown.map((one) => [one.name, read(one)]));
  const head = {
    snapshot_version,
    checksum,
    definitions: members(({ hash }) => hash),
    listings: members(({ listing }) => listing),
  };
  // All callers of a toolset see all of it.
  const all = endpoint.toolset === null ? definitionsIn(whole) : shown;
  const leaves = all.map(definitionLeaf);
  const names = new Set(shown.map(({ name }) => name));
  const isShown = (index: number) => names.has(all[index]?.name ?? '');
  const at = all.flatMap((_, index) => (isShown(index) ? [index] : []));
  const proof = { at, hidden: hiddenHashes(leaves, isShown).map((hash) => hash.toString('hex')) };
  return JSON.stringify({
    ...head,
    root: merkleRoot(leaves).toString('hex'),
    size: all.length,
    // A caller who sees all needs no hashes of hidden definitions.
    ...(at.length === all.length ? {} : { proof }),
    ...(signed === null ? {} : signatureOf(signed)),
  });
}

const signatureOf = ({ list, root, size, issued_at, expires_at, kid, signature }: SignedList) => ({
  list,
  root,
  size,
  issued_at,
  expires_at,
  kid,
  signature,
});

const listings = new WeakMap<Leaf, string>();

function definitionsIn({ loaded }: Registry): ListedDefinition[] {
  const found: ListedDefinition[] = [];
  for (const [leaf, { item }] of loaded) {
    const name = definitionName(leaf);
    if (name === null) continue;
    const listing = listings.get(leaf) ?? listingHash(JSON.parse(item) as Record<string, unknown>);
    listings.set(leaf, listing);
    found.push({ name, hash: hexOf(leaf), listing });
  }
  return found.toSorted(byName);
}
