import type { DbType } from '#core/contract/connections.ts';
import { invalidField } from '#core/errors.ts';
import type { ConnectionSettings, DialPolicy, OpenSource, Source } from './source.ts';

const postgresql = async () => (await import('../postgresql/source.ts')).openPostgres;
const mysql = async () => (await import('../mysql/source.ts')).openMysql;

/** A driver is loaded when the first connection of its type is opened: some take 100 ms and tens of megabytes. */
const DRIVERS: Readonly<Partial<Record<DbType, () => Promise<OpenSource>>>> = {
  postgresql,
  cockroachdb: postgresql,
  greenplum: postgresql,
  supabase: postgresql,
  timescaledb: postgresql,
  redshift: postgresql,
  mysql,
  mariadb: mysql,
  sqlite: async () => (await import('../sqlite/source.ts')).openSqlite,
  libsql: async () => (await import('../libsql/source.ts')).openLibsql,
};

/** Opens no session yet. Rejects with `invalid` (field `db_type`) for a type without a driver. */
export async function openSource(settings: ConnectionSettings, policy: DialPolicy): Promise<Source> {
  const driver = DRIVERS[settings.db_type];
  if (!driver) throw invalidField('db_type', `There is no driver for ${settings.db_type} in this version; choose another type.`);
  return (await driver())(settings, policy);
}
