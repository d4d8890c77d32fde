import type * as v from 'valibot';
import type { DbType, SslMode } from '#core/contract/connections.ts';
import type { Parameter } from '#core/contract/parameters.ts';
import type { hostLimits, ReturnType } from '#core/contract/tools.ts';
import type { Statement } from '#core/lib/sql/statement.ts';

export const SNAPSHOT_FORMAT = 'sluice-snapshot/2';
/** A whole configuration in one text, as the first edition stored it and kept it on the disks of hosts. */
export const WHOLE_FORMAT = 'sluice-snapshot/1';

/** Ciphertext of a secret with a keyed fingerprint of its plain text; only the fingerprint counts in hashes. */
export interface Sealed {
  readonly $sealed: string;
}

export interface FrozenServer {
  readonly server_name: string;
  readonly transport: 'http' | 'sse' | 'stdio';
  readonly host: string;
  readonly port: number;
  readonly log_level: string;
  readonly otel_enabled: boolean;
  readonly auth_type: 'none' | 'bearer' | 'oauth_credentials' | 'oauth_introspection';
  readonly oauth_clients: readonly { readonly client_id: string; readonly client_secret: Sealed }[];
  readonly token_ttl_seconds: number;
  readonly introspection_url: string | null;
  readonly introspection_client_id: string | null;
  readonly introspection_client_secret: Sealed | null;
  readonly introspection_cache_ttl_seconds: number;
  /** The authorization server that clients are sent to; absent: the origin of the introspection endpoint. */
  readonly introspection_issuer?: string;
  /** Absent: none are named. */
  readonly introspection_scopes?: readonly string[];
  /** Absent: a token that names no audience is accepted. */
  readonly introspection_audience?: string;
  readonly cors_origins: readonly string[];
  readonly global_variables: Readonly<Record<string, string | number | boolean>>;
}

export interface FrozenConnection {
  readonly id: string;
  readonly name: string;
  readonly db_type: DbType;
  readonly host: string | null;
  readonly port: number | null;
  readonly database: string;
  readonly username: string | null;
  readonly password: Sealed | null;
  readonly ssl_mode: SslMode | null;
  readonly ssl_ca: string | null;
  readonly ssl_cert: string | null;
  readonly ssl_key: Sealed | null;
  /** Sensitive entries are `Sealed`. */
  readonly extra_params: Readonly<Record<string, unknown>>;
  readonly read_only: boolean;
  readonly pool_size: number;
  /** Calls that run at once; the rest wait in the queue. */
  readonly max_concurrency: number;
  readonly queue_limit: number;
  readonly queue_timeout_ms: number;
  /** SHA-256 over everything that a session depends on; the key of the pool. */
  readonly pool_key: string;
}

/** What one call runs and within which limits: shared by tools and resources. */
export interface FrozenQuery {
  readonly connection_id: string;
  readonly statement: Statement;
  readonly mode: 'fixed' | 'read' | 'write';
  readonly parameters: readonly Parameter[];
  readonly timeout_ms: number;
  readonly max_rows: number;
  readonly max_bytes: number;
  readonly transform_template: string | null;
}

type HostLimits = v.InferOutput<v.ObjectSchema<typeof hostLimits, undefined>>;
/** What may be null is absent then. */
type Given<T> = {
  readonly [K in keyof T as null extends T[K] ? never : K]: T[K];
} & {
  readonly [K in keyof T as null extends T[K] ? K : never]?: NonNullable<T[K]>;
};

export interface FrozenTool extends FrozenQuery, Given<HostLimits> {
  readonly id: string;
  readonly name: string;
  readonly return_type: ReturnType;
  readonly tags: readonly string[];
  /** The whole statement is a parameter; absent otherwise. */
  readonly passthrough?: true;
  /** The tool as `tools/list` sends it, rendered once. */
  readonly listing: Readonly<Record<string, unknown>>;
}

export interface FrozenResource extends FrozenQuery {
  readonly id: string;
  readonly name: string;
  readonly uri_template: string;
  readonly mime_type: string;
  readonly listing: Readonly<Record<string, unknown>>;
}

export interface FrozenPrompt {
  readonly id: string;
  readonly name: string;
  readonly arguments: readonly { readonly name: string; readonly required: boolean; readonly enum?: readonly string[] }[];
  readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly template: string }[];
  readonly listing: Readonly<Record<string, unknown>>;
}

/** The frozen configuration as a whole. It is stored, sent and kept as a tree of its entities (`tree.ts`). */
export interface SnapshotContent {
  readonly format: typeof SNAPSHOT_FORMAT;
  readonly server: FrozenServer;
  readonly connections: readonly FrozenConnection[];
  readonly tools: readonly FrozenTool[];
  readonly resources: readonly FrozenResource[];
  readonly prompts: readonly FrozenPrompt[];
}

export interface Snapshot {
  readonly version: number;
  /** The root of its tree. */
  readonly checksum: string;
  readonly created_at: string;
  readonly content: SnapshotContent;
}
