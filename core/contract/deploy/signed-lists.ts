import type { JWK } from 'jose';

/** The facts about a list of definitions that a signature covers. */
export interface ListManifest {
  /** Empty: everything that is served; the name of a toolset; or `candidate/<id>`. */
  readonly list: string;
  readonly snapshot_version: number;
  readonly checksum: string;
  /** Root of the tree over all definitions of the list, in hex. */
  readonly root: string;
  /** Number of all definitions of the list. */
  readonly size: number;
  readonly issued_at: string;
  readonly expires_at: string;
}

/** A manifest with its signature: a JWS in compact form without its payload (RFC 7515, appendix F). */
export interface SignedList extends ListManifest {
  readonly kid: string;
  readonly signature: string;
}

/** All signed lists, and the keys that verify them. */
export interface SignedListsEvent {
  /** Public keys only. */
  readonly keys: readonly JWK[];
  readonly lists: readonly SignedList[];
}
