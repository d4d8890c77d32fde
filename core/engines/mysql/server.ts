import type { Connection } from 'mysql2';
import { askMysql } from './connection.ts';
import { grammarName } from './modes.ts';

/** Facts that a session reads from the server at login. */
export interface MysqlServer {
  readonly version: string;
  readonly is_mariadb: boolean;
  /** The modes of the account plus strict mode, so that a value that does not fit is never truncated. */
  readonly sql_mode: string;
  /** The name of the grammar that these modes select. */
  readonly dialect: string;
  /** The variable that limits the time of statements, and its value in milliseconds; 0: no limit. */
  readonly time_limit: { readonly name: string; readonly ms: number };
}

const TIME_LIMITS = {
  // The unit is seconds.
  mariadb: { name: 'max_statement_time', unit: 1_000 },
  mysql: { name: 'max_execution_time', unit: 1 },
} as const;

/** @param version of the server, when an earlier session has read it. */
export async function askServer(connection: Connection, version?: string): Promise<MysqlServer> {
  const named = version ?? String((await askMysql(connection, 'SELECT version() AS version'))[0]?.['version']);
  const is_mariadb = /mariadb/i.test(named);
  const { name, unit } = TIME_LIMITS[is_mariadb ? 'mariadb' : 'mysql'];
  const [row] = await askMysql(connection, `SELECT @@sql_mode AS sql_mode, @@${name} AS time_limit`);
  const modes = String(row?.['sql_mode']).split(',').filter(Boolean);
  return {
    version: named,
    is_mariadb,
    sql_mode: [...new Set([...modes, 'STRICT_TRANS_TABLES'])].join(','),
    dialect: grammarName(modes),
    time_limit: { name, ms: Number(row?.['time_limit']) * unit },
  };
}
