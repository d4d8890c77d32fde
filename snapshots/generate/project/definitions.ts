import type { Parameter } from '#core/contract/definitions/parameters.ts';
import type { BoundType, BoundStatement, QueryResult, Json } from '#core/lib/sql/result.ts';
import type { TextFormat } from '#core/contract/definitions/pages.ts';
import type { ReturnType } from '#core/contract/definitions/tools.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';

export type LimitPlace = 'limit' | 'offset';

/** How the database reads a value: the type that it is told, and whether it takes it apart from other uses of the name. */
export interface Read {
  readonly as?: string;
  readonly apart?: number;
}

export type Dialect = 'postgresql' | 'duckdb' | 'mysql' | 'sqlite' | 'clickhouse';

/** A piece of SQL: text, a bound value, a list for IN, or a block that is kept only when every name in it was given. */
export type SqlNode =
  | string
  | ({ readonly name: string; readonly in?: 'in' | 'not_in'; readonly place?: LimitPlace } & Read)
  | { readonly block: readonly SqlNode[]; readonly names: readonly string[] };

/** What one call runs and within which limits. */
export interface Query {
  /** A key of `connections` in connections.ts. */
  readonly connection: string;
  /** True: the statement is committed. False: the database is told to refuse writes, and everything is rolled back. */
  readonly writes: boolean;
  readonly dialect: Dialect;
  readonly sql: readonly SqlNode[];
  /** Type of each bound name. */
  readonly types: Readonly<Record<string, BoundType>>;
  /** Names that always have a value, where the database has another type for those. */
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
  /** As `tools/list` sends it. */
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

/** One connected database. Every statement it is given is one statement with bound values. */
export interface Database {
  /** How the n-th value is written, where its type belongs to that. */
  readonly placeholder?: (number: number, element: number, type: BoundType, place?: LimitPlace, given?: boolean) => string;
  /** How a list that is one value is compared; null: it is empty. */
  readonly list?: (value: string | null, negated: boolean) => string;
  query(statement: BoundStatement, limits: Limits): Promise<QueryResult>;
  close(): Promise<void>;
}

/** How a server is reached, with the settings of its sessions. */
export type NetworkSettings = Omit<ConnectionSettings, 'session_values' | 'session_role'>;

export interface Project {
  readonly name: string;
  readonly version: string;
  /** What clients tell their models of this server; null: nothing. */
  readonly instructions: string | null;
  readonly host: string;
  readonly port: number;
  /** A token in MCP_TOKEN is demanded: the server that this was generated from asked for one too. */
  readonly needs_token: boolean;
  /** Whether tools that read refuse arguments that they do not declare, as those that write do. */
  readonly refuses_undeclared: boolean;
  readonly allowed_origins: readonly string[];
  /** Global variables of the templates. */
  readonly variables: Readonly<Record<string, Json>>;
  readonly connections: Readonly<Record<string, Database>>;
  readonly tools: readonly Tool[];
  readonly resources: readonly Resource[];
  readonly prompts: readonly Prompt[];
}
