import type { DbType } from '#core/contract/definitions/connections.ts';
import type { HopOf } from '#core/contract/definitions/connection-fields.ts';
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

/** A kind of database as people know it: the engine itself, or a compatible database. */
export interface DatabaseKind {
  readonly db_type: DbType;
  readonly default_port: number | null;
  readonly note: string | null;
  /** `db.system.name` of the OpenTelemetry conventions. */
  readonly telemetry: string;
  /** Matches the version text of such a server, where it differs from that of the engine's first kind. */
  readonly version?: RegExp;
}

/** The fields that are checked before a connection is dialled. A sealed password was checked when it was entered. */
export type ConnectionDetails = Pick<ConnectionSettings, 'db_type' | 'host' | 'port' | 'database'> & {
  readonly password?: unknown;
  readonly ssh?: SshAddresses | null;
};

/** The addresses of the SSH servers of a connection. */
export type SshAddresses = Pick<HopOf<unknown>, 'host' | 'port'> & {
  readonly jump: readonly Pick<HopOf<unknown>, 'host' | 'port'>[];
};

/** How a generated project connects a database of the engine. */
export interface ProjectPart {
  /** The driver's source file, which is copied into the project. */
  readonly driver: string;
  /** The npm packages that the driver needs. */
  readonly packages: readonly string[];
  /** The variables of the environment that are passed to the driver's `open…` function. */
  readonly variables: (connection: NamedConnection) => Variable[];
  /** When true, the driver also receives the TLS settings, `extra_params` and the pool size. */
  readonly networked: boolean;
  /** Text for the project's README: how read-only tools are enforced, and what this engine cannot enforce. */
  readonly enforced: string;
}

/** How an engine receives values about the caller. */
export interface SessionSupport {
  /** The kinds of database on which this was tested. */
  readonly kinds: readonly DbType[];
  /** Why a value cannot have this name, as the rest of a sentence that begins with the name. Null: it can. */
  readonly nameFault: (name: string) => string | null;
  readonly roles: boolean;
}

/** What the plans of an engine estimate. */
export interface PlanSupport {
  /** The kinds of database on which this was tested. */
  readonly kinds: readonly DbType[];
  readonly cost: boolean;
}

/** The frozen settings that decide whether a bundle can reach a database. */
export type Reached = Pick<ConnectionSettings, 'ssl_mode' | 'ssl_ca' | 'ssl_cert'> & { readonly ssl_key: unknown };

/** The files of a connection: those of its folder, or its single file. */
export interface FolderFiles {
  /** Absolute path. Throws `invalid` when the connection is not a folder, and `database_unreachable` when it does not exist. */
  folder(database: string, policy: DialPolicy): string;
  /** Why a file of the connection cannot have this name, as a sentence. Null: it can. */
  nameFault(name: string, database: string, policy: DialPolicy): string | null;
  /** Why no file can be deleted, as a sentence. Absent: files can be deleted. */
  readonly deleteFault?: string;
  /** Bytes of all files that count against the quota of the connection. */
  bytes(database: string, policy: DialPolicy): number;
  /** Checks an uploaded file right before it replaces `target`. Throws `invalid`. */
  accept?(path: string, target: string): Promise<void>;
  /** The import status of each file. `reading` is true while changed files are being read. Times in milliseconds. */
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

/** Everything that the rest of the product knows about an engine. Slow modules are loaded on first use. */
export interface EngineDescriptor {
  /** The name of its folder. */
  readonly name: string;
  /** The kinds of database it serves. */
  readonly kinds: readonly DatabaseKind[];
  /** The grammar of its statements. */
  readonly dialect: SqlDialect;
  /** All of its grammars, when server settings select between several. */
  readonly dialects?: readonly SqlDialect[];
  readonly required_fields: readonly ('host' | 'database')[];
  /** The settings that `extra_params` may contain. */
  readonly extras: readonly Extra[];
  /** Null: a database of this engine cannot receive values about the caller. */
  readonly session: SessionSupport | null;
  /** The engine is reached over HTTP. Without an `ssl_mode` the certificate is then fully verified (`trustOf` in `tls.ts`). */
  readonly over_http?: true;
  /** The kinds of database that tell a primary from a standby, so that `host` can be a list. Absent: none. */
  readonly replicated?: readonly DbType[];
  /** Its sockets can go through an SSH tunnel. Absent: they cannot. */
  readonly tunnels?: true;
  /** Whether a connection that names no user may still need its password. */
  readonly token: boolean;
  /** Throws `invalid` with the field when a connection cannot be stored like this. */
  readonly check: (target: ConnectionDetails, policy: DialPolicy) => Promise<void>;
  readonly open: () => Promise<OpenSource>;
  /** Whether its optional package is installed. Absent: it needs none. */
  readonly isInstalled?: () => Promise<boolean>;
  readonly project: ProjectPart;
  /** Reads the plans of statements. Absent: the engine cannot explain. */
  readonly plans?: () => Promise<PlanReader>;
  /** The row counts and costs of its plans. Absent: its plans have neither. */
  readonly estimates?: PlanSupport;
  /** Absent: a connection has no files that people can upload. */
  readonly files?: () => Promise<FolderFiles>;
  /**
   * What does not work in a bundle for a target, as sentences that begin with the connection's name. Absent: a bundle cannot
   * reach a database of this engine.
   */
  readonly bundle?: (connection: Reached, target: BundleTarget) => readonly string[];
}
