import type { DbType } from '#core/contract/definitions/connections.ts';
import type { ConnectionSettings } from './connection-settings.ts';
import type { NamedConnection, Variable } from './project.ts';
import type { ConnectionFiles, ConnectionFile } from '#core/contract/definitions/files.ts';
import type { DialPolicy, OpenSource } from './source.ts';
import type { SqlDialect } from '#core/lib/sql/dialect.ts';
import type { Extra } from './extras.ts';
import type { PlanReader } from './plans/plan-reader.ts';

/** Where a bundle runs: Cloudflare Workers (workerd), Deno or Bun. */
export const BUNDLE_TARGETS = ['workers', 'deno', 'bun'] as const;

export type BundleTarget = (typeof BUNDLE_TARGETS)[number];

/** A kind of database as people know it: the engine itself, or a relative that speaks like it. */
export interface EngineLabel {
  readonly db_type: DbType;
  readonly label: string;
  readonly default_port: number | null;
  readonly note: string | null;
  /** `db.system.name` of the OpenTelemetry conventions. */
  readonly telemetry: string;
  /** What the version of such a server says, where that tells it from the first of its engine. */
  readonly version?: RegExp;
}

/** What can be said of a connection before anything is dialled; a sealed password was looked at when it came. */
export type ConnectionDetails = Pick<ConnectionSettings, 'db_type' | 'host' | 'port' | 'database'> & {
  readonly password?: unknown;
};

/** How a generated project connects a database of the engine. */
export interface ProjectPart {
  /** The driver's source, which the project takes over. */
  readonly driver: string;
  /** The npm packages that the driver needs. */
  readonly packages: readonly string[];
  /** What the driver's `open…` function is given from the environment. */
  readonly variables: (connection: NamedConnection) => Variable[];
  /** It is given the TLS settings, `extra_params` and the size of the pool too. */
  readonly networked: boolean;
  /** Of the project's README: how a tool is kept from writing, and what does not hold with this engine. */
  readonly enforced: string;
}

/** How an engine receives values of the caller. */
export interface SessionSupport {
  /** The kinds of database on which that was tried. */
  readonly kinds: readonly DbType[];
  /** What is wrong with the name of a value, completing a sentence that begins with it; null: nothing. */
  readonly nameFault: (name: string) => string | null;
  readonly roles: boolean;
}

/** The frozen settings that decide whether a bundle can reach a database. */
export type Reached = Pick<ConnectionSettings, 'ssl_mode' | 'ssl_ca' | 'ssl_cert'> & { readonly ssl_key: unknown };

/** The files of a connection: those of a folder, or the one that it is. */
export interface FolderFiles {
  /** Absolute. Throws `invalid` where the connection is no folder, and `database_unreachable` where it is gone. */
  folder(database: string, policy: DialPolicy): string;
  /** Why a file of the connection cannot be called so, as a sentence; null: it can. */
  nameFault(name: string, database: string, policy: DialPolicy): string | null;
  /** Why none can be deleted. Absent: each can. */
  readonly deleteFault?: string;
  /** Of everything that counts against the quota of the connection. */
  bytes(database: string, policy: DialPolicy): number;
  /** Looks at a file that has arrived, right before it takes its place. Throws `invalid`. */
  accept?(path: string, target: string): Promise<void>;
  /** What became of each file; `reading`: what changed is still being read. Times in milliseconds. */
  status(
    connection: Pick<ConnectionSettings, 'database' | 'extra_params'>,
    policy: DialPolicy,
  ): Promise<{
    readonly items: readonly FolderFile[];
    readonly reading: boolean;
    readonly progress: ConnectionFiles['progress'];
  }>;
}

export type FolderFile = Omit<ConnectionFile, 'changed_at' | 'imported_at'> & {
  readonly changed_at: number;
  readonly imported_at: number | null;
};

/** Everything that the rest of the product knows of an engine; what takes long to load is loaded when it is needed. */
export interface EngineDescriptor {
  /** The name of its folder. */
  readonly name: string;
  /** The kinds of database it serves. */
  readonly labels: readonly EngineLabel[];
  /** The grammar of its statements. */
  readonly dialect: SqlDialect;
  /** All of its grammars, where settings of the server make several. */
  readonly dialects?: readonly SqlDialect[];
  readonly required_fields: readonly ('host' | 'database')[];
  /** What `extra_params` may hold. */
  readonly extras: readonly Extra[];
  /** Null: a database of this engine cannot receive values of the caller. */
  readonly session: SessionSupport | null;
  /** It is asked over HTTP, where without an `ssl_mode` the certificate is verified in full (`trustOf` in `tls.ts`). */
  readonly over_http?: true;
  /** Whether a connection that names no user may still need its password. */
  readonly token: boolean;
  /** Throws `invalid` with the field when a connection cannot be stored like this. */
  readonly check: (target: ConnectionDetails, policy: DialPolicy) => Promise<void>;
  readonly open: () => Promise<OpenSource>;
  /** Whether the optional package that it needs is there. Absent: it needs none. */
  readonly isInstalled?: () => Promise<boolean>;
  readonly project: ProjectPart;
  /** How it explains a statement. Absent: it cannot. */
  readonly plans?: () => Promise<PlanReader>;
  /** Absent: a connection has no files that people could put there. */
  readonly files?: () => Promise<FolderFiles>;
  /**
   * What of a connection does not work in a bundle for a target, as sentences that begin with its name. Absent: no bundle reaches a
   * database of the engine.
   */
  readonly bundle?: (connection: Reached, target: BundleTarget) => readonly string[];
}
