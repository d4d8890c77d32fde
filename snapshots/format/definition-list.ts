import { createHash } from 'node:crypto';
import type { ListManifest } from '#core/contract/deploy/signed-lists.ts';
import type { LeafKind } from '#core/contract/entities.ts';
import { canonical } from './canonical.ts';
import { leafHash } from './merkle.ts';
import type { Leaf } from './tree.ts';

/** What is signed about a list of definitions. */

const FOLDERS: Partial<Record<LeafKind, string>> = { tool: 'tools', resource: 'resources', prompt: 'prompts' };

/** A definition by its name, such as `tools/find_orders`. */
export interface ListedDefinition {
  readonly name: string;
  /** SHA-256 of everything that decides what it does, in hex. */
  readonly hash: string;
  /** SHA-256 of its item in the lists of the protocol, in hex. */
  readonly listing: string;
}

export const isDefinition = ({ kind }: Pick<Leaf, 'kind'>): boolean => FOLDERS[kind] !== undefined;

/** Null: the leaf is no definition. */
export function definitionName({ kind, name }: Pick<Leaf, 'kind' | 'name'>): string | null {
  const folder = FOLDERS[kind];
  return folder === undefined ? null : `${folder}/${name}`;
}

export const hexOf = ({ hash }: Pick<Leaf, 'hash'>): string => Buffer.from(hash, 'base64url').toString('hex');

/** @param item as the lists send it. `_meta` is not covered: it depends on the host. */
export function listingHash(item: Readonly<Record<string, unknown>>): string {
  const { _meta: _, ...covered } = item;
  return createHash('sha256').update(canonical(covered)).digest('hex');
}

/** The order of the leaves of the signed tree: by the code units of the name. */
export const byName = (a: { readonly name: string }, b: { readonly name: string }): number => (a.name < b.name ? -1 : 1);

export const definitionLeaf = ({ name, hash, listing }: ListedDefinition): Buffer => leafHash(canonical([name, hash, listing]));

/** The type in the header of a signature, so that no other signature passes as one (RFC 8725, section 3.11). */
export const SIGNATURE_TYPE = 'mcp-definitions+jws';
export const SIGNATURE_ALGORITHM = 'ES256';

/** The bytes that are signed: canonical JSON (RFC 8785) of the facts. */
export const signedBytes = ({
  list,
  snapshot_version,
  checksum,
  root,
  size,
  issued_at,
  expires_at,
}: ListManifest): Uint8Array<ArrayBuffer> =>
  new TextEncoder().encode(canonical({ list, snapshot_version, checksum, root, size, issued_at, expires_at }));
