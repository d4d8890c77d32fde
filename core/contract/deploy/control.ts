import type { LeafKind } from '#core/contract/entities.ts';
import type { McpToken } from '#core/contract/identity/mcp-tokens.ts';
import type { Sealed } from '#core/contract/fields.ts';
import * as v from 'valibot';
import { BootId } from '#core/contract/observe/usage-batch.ts';
import type { JWK } from 'jose';
import type { SignedListsEvent } from './signed-lists.ts';

/** A snapshot as sent to a host. Without a delta, the host already has it. */
export interface SnapshotEvent {
  readonly version: number;
  readonly checksum: string;
  readonly created_at: string;
  readonly delta?: {
    /** Checksum of the snapshot that the delta applies to; null: an empty one. */
    readonly from: string | null;
    readonly removed: readonly string[];
    readonly blobs: readonly (readonly [kind: LeafKind, name: string, hash: string, text: string])[];
  };
}

/** A snapshot that hosts serve or load beside the live version. */
export interface SideSnapshot {
  /** The name by which hosts request it: a candidate's ID, or the name of a version. */
  readonly id: string;
  readonly checksum: string;
  /** Hosts stop serving it after this time, even without the server; null: it has no address. */
  readonly expires_at: string | null;
  /** SHA-256 of the token for its address. */
  readonly digest: string | null;
  readonly token_prefix: string | null;
  /** Its token can call read tools only. */
  readonly reads_only: boolean;
}

/** The complete list of side snapshots, sent at every change. */
export interface SideSnapshotsEvent {
  /** Identifies this list; a host reports the revision that it has applied. */
  readonly revision: string;
  readonly snapshots: readonly SideSnapshot[];
  readonly canary: CanaryEvent | null;
}

/** A running canary: some callers are served a side snapshot instead of the live version. */
export interface CanaryEvent {
  readonly id: string;
  /** ID of the side snapshot. */
  readonly candidate: string;
  /** Percentage of callers. */
  readonly percent: number;
  /** Seed that assigns callers to a side, the same on all hosts. */
  readonly seed: string;
}

/** Tells a host to run its sampled calls on another version too. */
export interface ReplayRequest {
  readonly request_id: string;
  /** A candidate's ID, or `v` and a version number. */
  readonly name: string;
  readonly calls: number;
  /** Whether the response can include rows. */
  readonly values: boolean;
  readonly time_ms: number;
}

export interface ReplayEnd {
  readonly request_id: string;
  readonly cancelled: true;
}

/** The name by which a host confirms that it has applied the list (`confirmed-lists.ts`). Absent: not confirmed. */
export interface NamedList {
  readonly list?: string;
}

/** How often a connected host posts a sign of life, and the time without one after which it counts as disconnected. */
export const SIGN_OF_LIFE: { readonly every_ms: number; readonly silent_ms: number } = { every_ms: 3_000, silent_ms: 10_000 };

/** Where the connection of a host comes from, and the version of its program. */
export interface HostOrigin {
  readonly address: string | null;
  readonly program_version: string | null;
}

/** Events that the server sends on a host's stream. */
export type HostEvent =
  | { readonly event: 'snapshot'; readonly data: SnapshotEvent | string }
  | { readonly event: 'listen'; readonly data: { readonly host: string; readonly port: number; readonly request_id: string } }
  | { readonly event: 'tokens'; readonly data: { readonly tokens: readonly LiveToken[] } & NamedList }
  | { readonly event: 'identity'; readonly data: IdentityList & NamedList }
  | { readonly event: 'names'; readonly data: { readonly names: readonly string[] } }
  | { readonly event: 'beside'; readonly data: SideSnapshotsEvent }
  /** Sent before the snapshots that it is about. */
  | { readonly event: 'signed'; readonly data: SignedListsEvent }
  | { readonly event: 'replay'; readonly data: ReplayRequest | ReplayEnd }
  /** Cancels a call for an administrator; a host that does not run it ignores the event. */
  | { readonly event: 'cancel'; readonly data: { readonly id: string } }
  | { readonly event: 'decision'; readonly data: DecisionEvent }
  | { readonly event: 'stop'; readonly data: Record<string, never> }
  | { readonly event: 'ping'; readonly data: Record<string, never> };

/**
 * An access token for verification on hosts: SHA-256 of the token, and its bcrypt hash sealed as `mcp_token/<id>/secret_hash`.
 */
export interface LiveToken extends Omit<McpToken, 'version' | 'rotation_ends_at'> {
  readonly digest: string;
  readonly secret_hash: Sealed;
  /** The secret before a rotation, its hash sealed as `mcp_token/<id>/previous_hash`. */
  readonly previous?: { readonly digest: string; readonly secret_hash: Sealed; readonly ends_at: string } | null;
}

export const Acknowledgement = v.object({
  boot_id: BootId,
  version: v.nullish(v.number(), null),
  checksum: v.nullish(v.string(), null),
  load_ms: v.nullish(v.number(), null),
  url: v.nullish(v.string(), null),
  error: v.nullish(v.string(), null),
  disk_fault: v.nullish(v.string()),
  request_id: v.nullish(v.string(), null),
});

export type Acknowledgement = v.InferOutput<typeof Acknowledgement>;

/** A host's sign of life. */
export const SignOfLife = v.object({ disk_fault: v.nullish(v.string(), null) });
export type SignOfLife = v.InferOutput<typeof SignOfLife>;

/** A person's decision on the confirmation page, sent to all hosts. */
export interface DecisionEvent {
  readonly nonce: string;
  readonly approved: boolean;
}

/**
 * The limit up to which tokens are revoked: a time in seconds since 1970 (fractional), and a position in the database's order.
 */
export interface Until {
  readonly before: number;
  readonly seq: number;
}

/**
 * Revokes tokens by grant, person or client; exactly one of the three is set. A grant never returns, so all its tokens are
 * refused.
 */
export interface EndedGrant extends Until {
  readonly grant?: string;
  readonly sub?: string;
  readonly client_id?: string;
}

export interface IdentityList {
  /** Compared exactly with `iss`. */
  readonly issuer: string;
  /** Public keys only. */
  readonly jwks: { readonly keys: readonly JWK[] };
  readonly ended: readonly EndedGrant[];
  /** Time at which the server created the list (ISO 8601). */
  readonly as_of: string;
}
