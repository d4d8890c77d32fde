import { type ConnectionType, DB_TYPE_CHOICES, type DbType } from '#core/contract/definitions/connections.ts';
import { AppError } from '#core/errors.ts';
import type { SqlDialect } from '#core/lib/sql/dialect.ts';
import { CLICKHOUSE } from './clickhouse/descriptor.ts';
import { DUCKDB } from './duckdb/descriptor.ts';
import { LIBSQL } from './libsql/descriptor.ts';
import { MYSQL } from './mysql/descriptor.ts';
import { POSTGRESQL } from './postgresql/descriptor.ts';
import type { EngineDescriptor, DatabaseKind, ConnectionDetails } from './shared/descriptor.ts';
import type { ConnectionSettings } from './shared/connection-settings.ts';
import type { DialPolicy, Source } from './shared/source.ts';
import { SQLITE } from './sqlite/descriptor.ts';

/** All engines. A new one needs a folder, a line here, and its kinds of database in the contract's `DbType`. */
export const ENGINES: readonly EngineDescriptor[] = [POSTGRESQL, MYSQL, SQLITE, LIBSQL, DUCKDB, CLICKHOUSE];

/** The kind of database that is a folder of files. */
export const FOLDER_TYPE: DbType = DUCKDB.kinds[0]!.db_type;

interface EngineKind {
  readonly engine: EngineDescriptor;
  readonly kind: DatabaseKind;
}

const ENGINE_KINDS: ReadonlyMap<DbType, EngineKind> = new Map(
  ENGINES.flatMap((engine) => engine.kinds.map((kind) => [kind.db_type, { engine, kind }] as const)),
);

/** A kind of database with its engine. A test checks that every `DbType` of the contract has an engine. */
export function kindOf(db_type: DbType): EngineKind {
  const kind = ENGINE_KINDS.get(db_type);
  if (kind === undefined) throw new Error(`No engine serves ${db_type}.`);
  return kind;
}

/** The kind of database that a server's version text shows. When the version does not show it, the chosen kind. */
export function kindOfServer(chosen: DbType, server_version: string): DbType {
  const { engine, kind } = kindOf(chosen);
  const shown = engine.kinds.find(({ version }) => version?.test(server_version));
  return (shown ?? (kind.version === undefined ? kind : engine.kinds[0]))?.db_type ?? chosen;
}

const DIALECTS: ReadonlyMap<string, SqlDialect> = new Map(
  ENGINES.flatMap(({ dialect, dialects = [dialect] }) => dialects.map((one) => [one.name, one] as const)),
);

/** The grammar of a compiled statement, by the name that is stored with the statement. */
export function dialectNamed(name: string): SqlDialect {
  const dialect = DIALECTS.get(name);
  if (dialect === undefined) throw new Error(`No engine reads statements of ${name}.`);
  return dialect;
}

export const engineOf = (db_type: DbType): EngineDescriptor => kindOf(db_type).engine;

/** The fields for each kind of database, for GET connections/types and the connection form. */
export const CONNECTION_TYPES: readonly ConnectionType[] = [...ENGINE_KINDS.values()].map(({ engine, kind }) => ({
  db_type: kind.db_type,
  label: DB_TYPE_CHOICES[kind.db_type].label,
  default_port: kind.default_port,
  required_fields: [...engine.required_fields],
  extra_fields: engine.extras.map(({ field }) => field),
  session_values: engine.session?.kinds.includes(kind.db_type) === true,
  ssh: engine.tunnels === true,
  hosts: engine.replicated?.includes(kind.db_type) === true,
  session_roles: engine.session?.kinds.includes(kind.db_type) === true && engine.session.roles,
  supported: true,
  note: kind.note,
}));

/** The port of a connection, or the default port of its kind. Null: the address contains it. */
export const portOf = ({ db_type, port }: Pick<ConnectionDetails, 'db_type' | 'port'>): number | null =>
  port ?? kindOf(db_type).kind.default_port;

/** Opens no session yet. The driver is loaded with its first connection: some take 100 ms and tens of megabytes. */
export async function openSource(settings: ConnectionSettings, policy: DialPolicy): Promise<Source> {
  const engine = engineOf(settings.db_type);
  const open = await engine.open();
  const complete = { ...settings, port: portOf(settings) };
  const { ssh = null } = settings;
  if (ssh === null) return open(complete, policy);
  // Saving refuses this; a stored connection may be of another release.
  if (engine.tunnels !== true) throw new AppError('database_unreachable', noTunnel(settings.db_type), { reason: 'failed' });
  const { openTunnelled } = await import('./shared/tunnel/tunnelled-source.ts');
  return openTunnelled(ssh, policy, (through) => open(complete, through));
}

/** Why a connection of this kind cannot have `ssh`. */
export function noTunnel(db_type: DbType): string {
  const { label } = DB_TYPE_CHOICES[db_type];
  const why = engineOf(db_type).required_fields.includes('host')
    ? 'is reached over HTTP'
    : 'is a file and not reached over a network';
  return `${label} ${why}, so an SSH tunnel has no effect on it. Remove ssh.`;
}

/** Checks a connection when it is saved: the file exists in an allowed folder, the address is allowed. */
export async function checkTarget(target: ConnectionDetails, policy: DialPolicy): Promise<void> {
  const complete = { ...target, port: portOf(target) };
  const { ssh = null } = target;
  if (ssh === null) return engineOf(target.db_type).check(complete, policy);
  const { checkTunnel } = await import('./shared/tunnel/check.ts');
  return checkTunnel(ssh, complete, policy);
}
