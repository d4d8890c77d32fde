import type { LiveToken } from '#core/contract/deploy/control.ts';
import type { Leaf } from '#snapshots/format/tree.ts';

/** An access token as stored in a bundle; `digest` is its SHA-256 in hex, which does not reveal the token. */
export type BundledToken = Pick<
  LiveToken,
  'id' | 'name' | 'token_prefix' | 'toolsets' | 'claims' | 'created_at' | 'expires_at' | 'digest'
> & {
  /** The token before a rotation. */
  readonly previous?: { readonly digest: string; readonly ends_at: string };
};

/**
 * The content of one module: a snapshot without secrets, the tokens of its callers, and the names of the bindings for its
 * secrets.
 */
export interface Bundled {
  readonly version: number;
  readonly checksum: string;
  readonly created_at: string;
  /**
   * Leaves with their canonical texts; in those of connections and of the server, each secret is replaced by `{"$sealed":""}`.
   */
  readonly leaves: readonly (Leaf & { readonly text: string })[];
  readonly tokens: readonly BundledToken[];
  /** Time at which the tokens were read. */
  readonly as_of: string;
  /** Binding of each secret, by its path (`connection/<id>/password`). */
  readonly secrets: Readonly<Record<string, string>>;
  /** Prefix of a connection's binding names, by connection ID. */
  readonly prefixes: Readonly<Record<string, string>>;
  /** Whether a mask hashes values, which needs a key. */
  readonly hashes: boolean;
  /** HTML of the page that renders results; absent: results are not rendered. */
  readonly view?: string;
}

/** Name of the binding with the key for masks that hash. */
export const MASK_KEY = 'SLUICE_MASK_KEY';
