import type { Socket } from 'node:net';

/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type Row = Record<string, Json>;
export type ValueKind = 'boolean' | 'integer' | 'bigint' | 'number' | 'string' | 'bytes' | 'json' | 'array';

export interface Column {
  readonly name: string;
  /** Type name as the database reports it. */
  readonly type: string;
  readonly kind: ValueKind;
}

export interface QueryResult {
  readonly columns: readonly Column[];
  readonly rows: Row[];
  readonly truncated: boolean;
  /** Rows changed by a statement that returns none; null if it returns rows. */
  readonly affected_rows: number | null;
  /** Number of results of a procedure, of which this is the first with rows. Absent: one. */
  readonly results?: number;
}

/** A server-side time limit for all statements of the account. */
export interface ServerLimit {
  readonly name: string;
  readonly value: string;
  readonly source: 'server' | 'database' | 'account';
}

export type ScalarType = 'string' | 'integer' | 'number' | 'boolean' | 'date' | 'datetime' | 'uuid' | 'json' | 'bytes';
export type ParameterType = ScalarType | 'array';
export type BoundType = ScalarType | { readonly array: ScalarType };
export type ReturnType = 'rows' | 'row' | 'column' | 'value' | 'text' | 'markdown' | 'csv' | 'image' | 'audio';

/** Format of the text beside structured content; absent: JSON. */
export type TextFormat = 'json' | 'markdown' | 'csv' | 'tsv';

export interface Parameter {
  readonly name: string;
  readonly type: ParameterType;
  readonly description: string;
  readonly required: boolean;
  readonly default?: unknown;
  readonly enum?: readonly (string | number | boolean)[] | undefined;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly min_length?: number | undefined;
  readonly max_length?: number | undefined;
  readonly pattern?: string | undefined;
  readonly items?: ScalarType | undefined;
  readonly examples?: readonly unknown[] | undefined;
  /** Source that fills the value instead of the model: `vars.<name>`, `call.time` or `call.id`. */
  readonly from?: string | undefined;
}

export type MaskKind = 'remove' | 'null' | 'text' | 'hash' | 'last4' | 'email' | 'year';
export interface Mask {
  readonly column: string;
  readonly mask: MaskKind;
  readonly unless_groups: readonly string[];
}

/** A value that a database receives about each caller. */
export interface SessionValue {
  readonly name: string;
  readonly from: string;
}
export interface SessionRole {
  readonly from: string;
  readonly allow: readonly string[];
}

export type DbType = string;
/** The settings that a connection can have in `extra_params`. */
export interface ConnectionType {
  readonly extra_fields: readonly {
    readonly name: string;
    readonly label: string;
    readonly hint: string;
    readonly type: 'text';
    readonly default: string | null;
    readonly secret: boolean;
  }[];
}

/** How to reach a database server. */
export interface ConnectionSettings {
  readonly db_type: DbType;
  readonly host: string | null;
  readonly port: number | null;
  readonly target?: 'any' | 'primary' | 'prefer_standby';
  readonly database: string;
  readonly username: string | null;
  readonly password: string | null;
  readonly ssl_mode: 'disable' | 'require' | 'verify-ca' | 'verify-full' | null;
  readonly ssl_ca: string | null;
  readonly ssl_cert: string | null;
  readonly ssl_key: string | null;
  readonly extra_params: Readonly<Record<string, unknown>>;
  readonly pool_size: number;
  readonly session_values?: readonly SessionValue[];
  readonly session_role?: SessionRole | null;
}

/** The network access of drivers. */
export interface DialPolicy {
  readonly network?: {
    readonly fetch: (url: URL, init: RequestInit) => Promise<Response>;
    readonly sockets: {
      readonly dial: (host: string, port: number, signal: AbortSignal) => Promise<Socket>;
      readonly secure: (socket: Socket, settings: Pick<ConnectionSettings, 'host'>, signal: AbortSignal) => Promise<Socket>;
    } | null;
  };
  readonly tunnel?: {
    readonly dial: (
      host: string,
      port: number,
      signal: AbortSignal,
      database: string,
    ) => Promise<{ readonly socket: Socket; readonly private: boolean }>;
  };
  readonly allow_private_networks: boolean;
  readonly forbidden: readonly InstallationAddress[];
  readonly forbiddenNow?: () => Promise<readonly InstallationAddress[]>;
  readonly sqlite_dir: string;
  readonly fetch?: DialledFetch;
}
export interface InstallationAddress {
  readonly host: string;
  readonly port: number;
  readonly database?: string;
}
export interface DialledInit extends Omit<RequestInit, 'redirect'> {
  readonly tls?: {
    readonly serverName?: string;
    readonly rejectUnauthorized?: boolean;
    readonly checkServerIdentity?: () => undefined;
    readonly ca?: string;
    readonly cert?: string;
    readonly key?: string;
  };
}
export type DialledFetch = (url: string, init: DialledInit) => Promise<Response>;

/** SQL with placeholders of its database, and the values in order. */
export interface BoundStatement {
  readonly text: string;
  readonly values: readonly Json[];
  readonly types: readonly BoundType[];
  readonly declared?: readonly (string | null)[] | undefined;
}
export interface DescribedText extends Pick<BoundStatement, 'text' | 'types' | 'declared'> {
  readonly names?: readonly string[];
}
export type SessionMode = 'fixed' | 'read' | 'write';
export interface SessionState {
  readonly values: readonly (string | null)[];
  readonly role: string | null;
}
export interface Changes {
  readonly direct: number | null;
  readonly all: number;
}
export interface HostState {
  readonly host: string;
  readonly role: 'primary' | 'standby' | null;
  readonly lag_ms: number | null;
  readonly error: string | null;
}

export interface RunOptions {
  readonly mode: SessionMode;
  readonly timeout_ms: number;
  readonly max_rows: number;
  readonly max_bytes: number;
  readonly session?: SessionState | undefined;
  readonly plans?: boolean;
  readonly rollback?: boolean;
  readonly review?: ((changes: Changes) => boolean) | undefined;
  readonly signal?:
    | {
        readonly aborted: boolean;
        readonly reason: unknown;
        throwIfAborted(): void;
        addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void;
        removeEventListener(type: 'abort', listener: () => void): void;
      }
    | undefined;
}

/** Receives the whole result of a statement in parts; a project has no use for it. */
export interface RowReceiver {
  begin(columns: readonly Column[]): void;
  rows(part: readonly Row[]): Promise<void>;
}
export type StreamOptions = Pick<RunOptions, 'timeout_ms' | 'session' | 'signal'>;
