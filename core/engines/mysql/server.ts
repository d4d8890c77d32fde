import type { Connection } from 'mysql2';
import { askMysql } from './connection.ts';
import { AppError } from '#core/errors.ts';
import type { ServerRole } from '../shared/hosts/host-choice.ts';
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

/** A replica that accepts writes is a standby as well, as far as the account may see that it replicates. */
export async function roleOf({ server, lookUp }: Replicating): Promise<ServerRole> {
  const [row] = await lookUp('SELECT @@global.read_only AS read_only');
  if (Number(row?.['read_only']) !== 0) return 'standby';
  if (server.is_mariadb) {
    const [running] = await lookUp("SHOW GLOBAL STATUS LIKE 'Slaves_running'");
    return Number(running?.['Value'] ?? 0) > 0 ? 'standby' : 'primary';
  }
  return (await replicas({ server, lookUp })).length > 0 ? 'standby' : 'primary';
}

/** The largest lag of its sources. Null: the account may not read it, or replication has stopped. */
export async function lagOf(session: Replicating): Promise<number | null> {
  const lags = (await replicas(session)).map((row) => row['Seconds_Behind_Master'] ?? row['Seconds_Behind_Source'] ?? null);
  if (lags.length === 0 || lags.includes(null)) return null;
  return Math.max(...lags.map(Number)) * 1_000;
}

interface Replicating {
  readonly server: MysqlServer;
  readonly lookUp: (text: string) => Promise<Record<string, unknown>[]>;
}

async function replicas({ server, lookUp }: Replicating): Promise<Record<string, unknown>[]> {
  try {
    return await lookUp(server.is_mariadb ? 'SHOW ALL SLAVES STATUS' : 'SHOW REPLICA STATUS');
  } catch (error) {
    // Needs REPLICA MONITOR on MariaDB, REPLICATION CLIENT on MySQL.
    if (error instanceof AppError && error.code === 'sql_error') return [];
    throw error;
  }
}
