import type { LeafKind } from '#core/contract/entities.ts';
import type { McpToken } from '#core/contract/identity/mcp-tokens.ts';
import type { Sealed } from '#core/contract/fields.ts';
import * as v from 'valibot';
import { BootId } from '#core/contract/observe/usage-batch.ts';
import type { JWK } from 'jose';

/** A snapshot as a host is told of it; without a delta it is the one that the host has. */
export interface SnapshotEvent {
  readonly version: number;
  readonly checksum: string;
  readonly created_at: string;
  readonly delta?: {
    /** Checksum of the snapshot that the delta leads from; null: from nothing. */
    readonly from: string | null;
    readonly removed: readonly string[];
    readonly blobs: readonly (readonly [kind: LeafKind, name: string, hash: string, text: string])[];
  };
}

/** A configuration that hosts hold beside the live version. */
export interface SideSnapshot {
  /** Hosts ask for it, and for the version of a number, by this name. */
  readonly id: string;
  readonly checksum: string;
  /** After it there is nothing at its address, also while the server is away; null: it has no address. */
  readonly expires_at: string | null;
  /** SHA-256 of the token for its address. */
  readonly digest: string | null;
  readonly token_prefix: string | null;
  /** Its token calls only tools that read. Absent: an earlier release made it, and it calls all. */
  readonly reads_only?: boolean;
}

/** All that hosts hold beside the live version: the whole list at every change. */
export interface SideSnapshotsEvent {
  /** Names this state; a host that is there says so. */
  readonly revision: string;
  readonly snapshots: readonly SideSnapshot[];
  readonly canary: CanaryEvent | null;
}

/** A canary that runs: some callers are served one of the snapshots beside the live version, in its place. */
export interface CanaryEvent {
  readonly id: string;
  /** Id of the snapshot. */
  readonly candidate: string;
  /** Share of callers. */
  readonly percent: number;
  /** What the side of a caller is worked out from, on every host alike. */
  readonly seed: string;
}

/** Has a host run calls that it keeps on another version too. */
export interface ReplayRequest {
  readonly request_id: string;
  /** The id of a candidate, or `v` and the number of a version. */
  readonly name: string;
  readonly calls: number;
  /** Whether rows may be told. */
  readonly values: boolean;
  readonly time_ms: number;
}

export interface ReplayEnd {
  readonly request_id: string;
  readonly cancelled: true;
}

/** A list whose state a host confirms by this name once it has taken it (`confirmed-lists.ts`); absent: nobody waits. */
export interface NamedList {
  readonly list?: string;
}

/** What the server says on a host's stream (contract section 0). */
export type HostEvent =
  | { readonly event: 'snapshot'; readonly data: SnapshotEvent | string }
  | { readonly event: 'listen'; readonly data: { readonly host: string; readonly port: number; readonly request_id: string } }
  | { readonly event: 'tokens'; readonly data: { readonly tokens: readonly LiveToken[] } & NamedList }
  | { readonly event: 'identity'; readonly data: IdentityList & NamedList }
  | { readonly event: 'names'; readonly data: { readonly names: readonly string[] } }
  | { readonly event: 'beside'; readonly data: SideSnapshotsEvent }
  | { readonly event: 'replay'; readonly data: ReplayRequest | ReplayEnd }
  /** A call that an administrator cancels; a host that does not run it ignores it. */
  | { readonly event: 'cancel'; readonly data: { readonly id: string } }
  | { readonly event: 'decision'; readonly data: DecisionEvent }
  | { readonly event: 'stop'; readonly data: Record<string, never> }
  | { readonly event: 'ping'; readonly data: Record<string, never> };

/** An access token as hosts check it: SHA-256 of the token, and its bcrypt hash sealed as `mcp_token/<id>/secret_hash`. */
export interface LiveToken extends Omit<McpToken, 'version'> {
  readonly digest: string;
  readonly secret_hash: Sealed;
}

export const Acknowledgement = v.object({
  boot_id: BootId,
  version: v.nullish(v.number(), null),
  checksum: v.nullish(v.string(), null),
  load_ms: v.nullish(v.number(), null),
  url: v.nullish(v.string(), null),
  error: v.nullish(v.string(), null),
  request_id: v.nullish(v.string(), null),
});

export type Acknowledgement = v.InferOutput<typeof Acknowledgement>;

/** What a person decided on the page, as the server tells every host. */
export interface DecisionEvent {
  readonly nonce: string;
  readonly approved: boolean;
}

/** Up to where tokens are refused: a time in seconds since 1970 with their fractions, and a place in the order of the database. */
export interface Until {
  readonly before: number;
  /** Absent: a server of an older release ended them. */
  readonly seq?: number;
}

/** What tokens are refused of; of a grant, which never comes back, all. Exactly one of the three is set. */
export interface EndedGrant extends Until {
  readonly grant?: string;
  readonly sub?: string;
  readonly client_id?: string;
}

export interface IdentityList {
  /** Exactly as it stands in `iss`. */
  readonly issuer: string;
  /** Public parts only. */
  readonly jwks: { readonly keys: readonly JWK[] };
  readonly ended: readonly EndedGrant[];
  /** When the server made the list (ISO 8601). */
  readonly as_of: string;
}
