import type { LiveToken } from '#core/contract/deploy/control.ts';
import type { Leaf } from '#snapshots/format/tree.ts';

/** An access token as a bundle checks it: `digest` is the SHA-256 of the token in hex, and nothing else leads to it. */
export type BundledToken = Pick<LiveToken, 'id' | 'name' | 'token_prefix' | 'toolsets' | 'claims' | 'created_at' | 'digest'>;

/** What one module serves: a snapshot without its secrets, the tokens of its callers, and the names under which it gets its secrets. */
export interface Bundled {
  readonly version: number;
  readonly checksum: string;
  readonly created_at: string;
  /** With the canonical text of each; the texts of connections and of the server hold `{"$sealed":""}` where a secret was. */
  readonly leaves: readonly (Leaf & { readonly text: string })[];
  readonly tokens: readonly BundledToken[];
  /** When the tokens were read. */
  readonly as_of: string;
  /** The binding of each secret, by its place (`connection/<id>/password`). */
  readonly secrets: Readonly<Record<string, string>>;
  /** The beginning of the names of a connection's bindings, by its id. */
  readonly prefixes: Readonly<Record<string, string>>;
  /** A mask makes hashes, which need a key. */
  readonly hashes: boolean;
  /** HTML of the page that draws results; absent: results are not drawn. */
  readonly view?: string;
}

/** The binding with the key of hashing masks. */
export const MASK_KEY = 'SLUICE_MASK_KEY';
