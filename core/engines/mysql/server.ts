import type { Connection } from 'mysql2';
import { grammarName } from './modes.ts';
import { askMysql, type MysqlServer } from './session.ts';

const TIME_LIMITS = {
  // In seconds.
  mariadb: { name: 'max_statement_time', unit: 1_000 },
  mysql: { name: 'max_execution_time', unit: 1 },
} as const;

/** @param version of the server, where an earlier session has it. */
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
