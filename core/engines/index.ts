import type { ConnectionType, DbType } from '#core/contract/definitions/connections.ts';
import type { SqlDialect } from '#core/lib/sql/dialect.ts';
import { CLICKHOUSE } from './clickhouse/descriptor.ts';
import { DUCKDB } from './duckdb/descriptor.ts';
import { LIBSQL } from './libsql/descriptor.ts';
import { MYSQL } from './mysql/descriptor.ts';
import { POSTGRESQL } from './postgresql/descriptor.ts';
import type { EngineDescriptor, EngineLabel, ConnectionDetails } from './shared/descriptor.ts';
import type { ConnectionSettings } from './shared/connection-settings.ts';
import type { DialPolicy, Source } from './shared/source.ts';
import { SQLITE } from './sqlite/descriptor.ts';

/** Every engine there is. A new one is its folder, its line here, and its kinds of database in the contract's `DbType`. */
export const ENGINES: readonly EngineDescriptor[] = [POSTGRESQL, MYSQL, SQLITE, LIBSQL, DUCKDB, CLICKHOUSE];

/** The kind of database that is a folder of files. */
export const FOLDER_TYPE: DbType = DUCKDB.labels[0]!.db_type;

interface EngineKind {
  readonly engine: EngineDescriptor;
  readonly label: EngineLabel;
}

const ENGINE_KINDS: ReadonlyMap<DbType, EngineKind> = new Map(
  ENGINES.flatMap((engine) => engine.labels.map((label) => [label.db_type, { engine, label }] as const)),
);

/** What is known of a kind of database. Every `DbType` of the contract has an engine, and a test says so. */
export function kindOf(db_type: DbType): EngineKind {
  const kind = ENGINE_KINDS.get(db_type);
  if (kind === undefined) throw new Error(`No engine serves ${db_type}.`);
  return kind;
}

/** The kind of database that a server is by its version; what does not show there is as it was chosen. */
export function kindOfServer(chosen: DbType, server_version: string): DbType {
  const { engine, label } = kindOf(chosen);
  const shown = engine.labels.find(({ version }) => version?.test(server_version));
  return (shown ?? (label.version === undefined ? label : engine.labels[0]))?.db_type ?? chosen;
}

const DIALECTS: ReadonlyMap<string, SqlDialect> = new Map(
  ENGINES.flatMap(({ dialect, dialects = [dialect] }) => dialects.map((one) => [one.name, one] as const)),
);

/** The grammar of a compiled statement, by the name that it keeps. */
export function dialectNamed(name: string): SqlDialect {
  const dialect = DIALECTS.get(name);
  if (dialect === undefined) throw new Error(`No engine reads statements of ${name}.`);
  return dialect;
}

export const engineOf = (db_type: DbType): EngineDescriptor => kindOf(db_type).engine;

/** What a person fills in for each kind of database: the table behind GET connections/types and the connection form. */
export const CONNECTION_TYPES: readonly ConnectionType[] = [...ENGINE_KINDS.values()].map(({ engine, label }) => ({
  db_type: label.db_type,
  label: label.label,
  default_port: label.default_port,
  required_fields: [...engine.required_fields],
  extra_fields: engine.extras.map(({ field }) => field),
  session_values: engine.session?.kinds.includes(label.db_type) === true,
  session_roles: engine.session?.kinds.includes(label.db_type) === true && engine.session.roles,
  supported: true,
  note: label.note,
}));

/** The port that a connection is dialled on where it names none: the usual one of its kind. Null: its address says it. */
export const portOf = ({ db_type, port }: Pick<ConnectionDetails, 'db_type' | 'port'>): number | null =>
  port ?? kindOf(db_type).label.default_port;

/** Opens no session yet. A driver is loaded with its first connection: some take 100 ms and tens of megabytes. */
export async function openSource(settings: ConnectionSettings, policy: DialPolicy): Promise<Source> {
  return (await engineOf(settings.db_type).open())({ ...settings, port: portOf(settings) }, policy);
}

/** What can be said of a connection when it is saved: the file exists where files may be, the address is allowed. */
export const checkTarget = (target: ConnectionDetails, policy: DialPolicy): Promise<void> =>
  engineOf(target.db_type).check({ ...target, port: portOf(target) }, policy);
