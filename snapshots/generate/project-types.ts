/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type Row = Record<string, Json>;
export type ValueKind = 'boolean' | 'integer' | 'bigint' | 'number' | 'string' | 'bytes' | 'json' | 'array';

export interface Column {
  readonly name: string;
  /** The database's own name of the type. */
  readonly type: string;
  readonly kind: ValueKind;
}

export interface QueryResult {
  readonly columns: readonly Column[];
  readonly rows: Row[];
  readonly truncated: boolean;
  /** Rows changed by a statement that returns none; null for a statement that returns rows. */
  readonly affected_rows: number | null;
}

export type ScalarType = 'string' | 'integer' | 'number' | 'boolean' | 'date' | 'datetime' | 'uuid' | 'json';
export type ParameterType = ScalarType | 'array';
export type BoundType = ScalarType | { readonly array: ScalarType };
export type ReturnType = 'rows' | 'row' | 'column' | 'value' | 'text' | 'markdown' | 'csv' | 'image' | 'audio';

/** How the text beside structured content is written; absent: as JSON. */
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
  /** Fills it, instead of the model: `vars.<name>`, `call.time` or `call.id`. */
  readonly from?: string | undefined;
}

export type MaskKind = 'remove' | 'null' | 'text' | 'hash' | 'last4' | 'email' | 'year';
export interface Mask {
  readonly column: string;
  readonly mask: MaskKind;
  readonly unless_groups: readonly string[];
}

/** What a database is told of each caller. */
export interface SessionValue {
  readonly name: string;
  readonly from: string;
}
export interface SessionRole {
  readonly from: string;
  readonly allow: readonly string[];
}

/** How a database that is asked over HTTP is reached. */
export interface ConnectionSettings {
  readonly host: string | null;
  readonly port: number | null;
  readonly database: string;
  readonly username: string | null;
  readonly password: string | null;
  readonly ssl_mode: 'disable' | 'require' | 'verify-ca' | 'verify-full' | null;
  readonly ssl_ca: string | null;
  readonly ssl_cert: string | null;
  readonly ssl_key: string | null;
}
export interface DialledInit extends RequestInit {
  readonly tls?: {
    readonly rejectUnauthorized?: boolean;
    readonly checkServerIdentity?: () => undefined;
    readonly ca?: string;
    readonly cert?: string;
    readonly key?: string;
  };
}
