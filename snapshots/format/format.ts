import type * as v from 'valibot';
import type { frozenWhenSet, frozenSettings } from '#core/contract/settings/settings.ts';
import type { Claims } from '#core/query/identity.ts';
import type { StoredSecret } from '#core/contract/fields.ts';
import type { DbType, HostTarget, SslMode } from '#core/contract/definitions/connections.ts';
import type { SealedSsh } from '#core/contract/definitions/connection-fields.ts';
import type { SessionRole, SessionValue } from '#core/contract/definitions/session-values.ts';
import type { hostLimits, ReturnType } from '#core/contract/definitions/tools.ts';
import type { MaskKind } from '#core/contract/definitions/masks.ts';
import type { FileFormat, TextFormat } from '#core/contract/definitions/pages.ts';
import type { View } from '#core/contract/definitions/view.ts';
import type { WriteGuard } from '#core/contract/definitions/write-guard.ts';
import type { FrozenQuery } from '#core/query/frozen-query.ts';
import type { ToolsetDraft } from '#core/contract/definitions/toolsets.ts';

export const SNAPSHOT_FORMAT = 'sluice-snapshot/2';

type Entries<E extends v.ObjectEntries> = v.InferOutput<v.ObjectSchema<E, undefined>>;

type WhenSet = Entries<typeof frozenWhenSet>;

/** All frozen settings by name. Settings of `WhenSet` are absent while they have their default. */
export interface FrozenServer
  extends Readonly<Entries<typeof frozenSettings>>, Readonly<Partial<{ [K in keyof WhenSet]: NonNullable<WhenSet[K]> }>> {
  readonly oauth_clients: readonly {
    readonly client_id: string;
    readonly client_secret: StoredSecret;
    /** Absent: all toolsets. */
    readonly toolsets?: readonly string[];
    readonly claims?: Claims;
  }[];
  readonly introspection_client_secret: StoredSecret | null;
  readonly global_variables: Readonly<Record<string, string | number | boolean>>;
}

export interface FrozenConnection {
  readonly id: string;
  readonly name: string;
  readonly db_type: DbType;
  readonly host: string | null;
  readonly port: number | null;
  /** Absent: any. */
  readonly target?: HostTarget;
  readonly database: string;
  readonly username: string | null;
  readonly password: StoredSecret | null;
  readonly ssl_mode: SslMode | null;
  readonly ssl_ca: string | null;
  readonly ssl_cert: string | null;
  readonly ssl_key: StoredSecret | null;
  /** Sensitive entries are sealed or references. */
  readonly extra_params: Readonly<Record<string, unknown>>;
  readonly read_only: boolean;
  readonly pool_size: number;
  /** Maximum concurrent calls; further calls wait in the queue. */
  readonly max_concurrency: number;
  readonly queue_limit: number;
  readonly queue_timeout_ms: number;
  /** Values about the caller that the database receives with each statement; absent: none. */
  readonly session_values?: readonly SessionValue[];
  /** Absent: statements run as the database account. */
  readonly session_role?: SessionRole | null;
  /** SSH servers in front of the database, with sealed secrets or references. Absent: none. */
  readonly ssh?: SealedSsh | null;
  /** SHA-256 over all settings that a session depends on; identifies the pool. */
  readonly pool_key: string;
}

type HostLimits = Entries<typeof hostLimits>;

/** Nullable fields become optional: null is omitted. */
type Given<T> = {
  readonly [K in keyof T as null extends T[K] ? never : K]: T[K];
} & {
  readonly [K in keyof T as null extends T[K] ? K : never]?: NonNullable<T[K]>;
};

export interface FrozenTool extends FrozenQuery, Given<HostLimits>, WriteGuard {
  readonly id: string;
  readonly name: string;
  readonly return_type: ReturnType;
  /** Absent: JSON. */
  readonly text_format?: TextFormat;
  /** Format of the file with the whole result. Absent: none is offered. */
  readonly files?: FileFormat;
  readonly tags: readonly string[];
  /** Absent: chosen to fit the rows. */
  readonly view?: View;
  /** Asks a person for missing arguments if the client shows forms. Absent: never. */
  readonly ask_missing?: true;
  /**
   * Whether the request log stores the arguments of calls: `true` stores them unchanged, a record stores the named ones under
   * their masks. Absent: none are stored.
   */
  readonly log_arguments?: true | Readonly<Record<string, MaskKind>>;
  /** The rendered entry of `tools/list`. */
  readonly listing: Readonly<Record<string, unknown>>;
}

export interface FrozenResource extends FrozenQuery {
  readonly id: string;
  readonly name: string;
  readonly uri_template: string;
  readonly mime_type: string;
  readonly tags?: readonly string[];
  readonly listing: Readonly<Record<string, unknown>>;
}

export interface FrozenPrompt {
  readonly id: string;
  readonly name: string;
  /** Absent: no connection owns it. */
  readonly connection_id?: string;
  readonly tags?: readonly string[];
  readonly arguments: readonly { readonly name: string; readonly required: boolean; readonly enum?: readonly string[] }[];
  readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly template: string }[];
  readonly listing: Readonly<Record<string, unknown>>;
}

/** A named part of the definitions, stored as its selection rule. */
export interface FrozenToolset extends Readonly<Omit<ToolsetDraft, 'enabled' | 'token_budget' | 'find_tools' | 'files'>> {
  readonly id: string;
  /** Absent: the default budget. */
  readonly token_budget?: number | null;
  /** Absent: false. */
  readonly find_tools?: boolean;
  /** Absent: false. */
  readonly files?: boolean;
}

/** The complete frozen configuration. It is stored and sent as a tree of its entities (`tree.ts`). */
export interface SnapshotContent {
  readonly format: typeof SNAPSHOT_FORMAT;
  readonly server: FrozenServer;
  readonly connections: readonly FrozenConnection[];
  readonly tools: readonly FrozenTool[];
  readonly resources: readonly FrozenResource[];
  readonly prompts: readonly FrozenPrompt[];
  readonly toolsets: readonly FrozenToolset[];
}

export interface Snapshot {
  readonly version: number;
  /** Root hash of its tree. */
  readonly checksum: string;
  readonly created_at: string;
  readonly content: SnapshotContent;
}
