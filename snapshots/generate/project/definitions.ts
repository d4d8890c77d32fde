import type { Parameter } from '#core/contract/definitions/parameters.ts';
import type { BoundType, BoundStatement, QueryResult, Json } from '#core/lib/sql/result.ts';
import type { TextFormat } from '#core/contract/definitions/pages.ts';
import type { ReturnType } from '#core/contract/definitions/tools.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';

export type LimitPlace = 'limit' | 'offset';

/** How the database reads a value: its declared type, and whether this use is bound separately from other uses of the name. */
export interface Read {
  readonly as?: string;
  readonly apart?: number;
}

export type Dialect = 'postgresql' | 'duckdb' | 'mysql' | 'sqlite' | 'clickhouse';

/** A part of the SQL: text, a bound value, a list for IN, or a block that is dropped unless all its names have a value. */
export type SqlNode =
  | string
  | ({ readonly name: string; readonly in?: 'in' | 'not_in'; readonly place?: LimitPlace } & Read)
  | { readonly block: readonly SqlNode[]; readonly names: readonly string[] };

/** A statement with its parameters and limits. */
export interface Query {
  /** A key of `connections` in connections.ts. */
  readonly connection: string;
  /** True: the statement is committed. False: the database refuses writes, and the transaction is rolled back. */
  readonly writes: boolean;
  readonly dialect: Dialect;
  readonly sql: readonly SqlNode[];
  /** Type of each bound parameter. */
  readonly types: Readonly<Record<string, BoundType>>;
  /** Names that always have a value, for databases that give those another type. */
  readonly given?: readonly string[];
  readonly parameters: readonly Parameter[];
  readonly timeout_ms: number;
  readonly max_rows: number;
  readonly max_bytes: number;
  readonly transform_template: string | null;
}

export interface Tool extends Query {
  readonly return_type: ReturnType;
  /** Absent: JSON. */
  readonly text_format?: TextFormat;
  /** The entry in `tools/list`. */
  readonly listing: Listing;
}

export interface Resource extends Query {
  readonly uri_template: string;
  readonly mime_type: string;
  readonly listing: Listing;
}

export interface Prompt {
  readonly arguments: readonly { readonly name: string; readonly required: boolean; readonly enum?: readonly string[] }[];
  readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly template: string }[];
  readonly listing: Listing;
}

export type Listing = { readonly name: string; readonly [member: string]: unknown };

export interface Limits {
  readonly writes: boolean;
  readonly timeout_ms: number;
  readonly max_rows: number;
  readonly max_bytes: number;
  readonly signal: AbortSignal;
}

/** One connected database. Each call of `query` runs a single statement with bound values. */
export interface Database {
  /** Placeholder of the n-th value, for databases in which it depends on the type. */
  readonly placeholder?: (number: number, element: number, type: BoundType, place?: LimitPlace, given?: boolean) => string;
  /** Comparison with a list that is bound as one value; null: the list is empty. */
  readonly list?: (value: string | null, negated: boolean) => string;
  query(statement: BoundStatement, limits: Limits): Promise<QueryResult>;
  close(): Promise<void>;
}

/** How to reach a server, without the values and role of its sessions. */
export type NetworkSettings = Omit<ConnectionSettings, 'session_values' | 'session_role'>;

export interface Project {
  readonly name: string;
  readonly version: string;
  /** Instructions that clients pass to their models; null: none. */
  readonly instructions: string | null;
  readonly host: string;
  readonly port: number;
  /** Whether a token in MCP_TOKEN is required, as on the server that this project was generated from. */
  readonly needs_token: boolean;
  /** Whether read tools refuse undeclared arguments, as write tools always do. */
  readonly refuses_undeclared: boolean;
  readonly allowed_origins: readonly string[];
  /** Global variables for templates. */
  readonly variables: Readonly<Record<string, Json>>;
  readonly connections: Readonly<Record<string, Database>>;
  readonly tools: readonly Tool[];
  readonly resources: readonly Resource[];
  readonly prompts: readonly Prompt[];
}
