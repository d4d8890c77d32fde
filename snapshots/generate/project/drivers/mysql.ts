import type { EventEmitter } from 'node:events';
import mysql from 'mysql2';
import type { QueryResult } from '#core/engines/shared/source.ts';
import { toConnectError, toStatementError } from '#core/engines/mysql/errors.ts';
import { createMysqlRows, keepGeometry } from '#core/engines/mysql/rows.ts';
import { type MysqlField, toMysqlValue } from '#core/engines/mysql/values.ts';
import type { Database, Limits, NetworkSettings } from '../definitions.ts';
import type { BoundSql } from '../sql.ts';

/** MySQL and MariaDB. A session is reset before its next call: no lock, variable or temporary table goes from one call to another. */
export function openMysql(settings: NetworkSettings): Database {
  const { collation = null, offset } = settings.session;
  const zone = offset ?? '+00:00';
  const names = collation === null ? 'utf8mb4' : `utf8mb4 COLLATE '${collation}'`;
  const setUp = `SET NAMES ${names}, SESSION time_zone = '${zone}'`;
  const account: mysql.ConnectionOptions = {
    host: settings.host,
    port: settings.port,
    user: settings.username,
    password: settings.password,
    ...tlsOf(settings),
  };
  const pool = mysql.createPool({
    ...account,
    database: settings.database,
    connectionLimit: settings.pool_size,
    idleTimeout: 60_000,
    charset: 'utf8mb4',
    flags: ['-LOCAL_FILES', '-MULTI_STATEMENTS'],
    supportBigNumbers: true,
    dateStrings: true,
    jsonStrings: true,
    disableEval: true,
  } as mysql.PoolOptions);

  return {
    async query(statement, limits) {
      const connection = await new Promise<mysql.PoolConnection>((resolve, reject) =>
        pool.getConnection((error, session) => (error ? reject(toConnectError(error)) : resolve(session))),
      );
      const command = (text: string) =>
        new Promise<unknown>((resolve, reject) =>
          connection.query(text, (error, rows) => (error ? reject(error) : resolve(rows))),
        );
      let clean = false;
      let killed = false;
      const kill = () => {
        killed = true;
        killQuery(account, connection.threadId);
      };
      const timer = setTimeout(kill, limits.timeout_ms);
      limits.signal.addEventListener('abort', kill, { once: true });
      try {
        await command(setUp);
        // The session refuses what the transaction lets through: DDL commits by itself.
        await command(`SET SESSION TRANSACTION ${limits.writes ? 'READ WRITE' : 'READ ONLY'}`);
        await command(limits.writes ? 'START TRANSACTION' : 'START TRANSACTION READ ONLY');
        const result = await execute(connection, statement, limits, zone);
        if (result.truncated && !limits.writes) return result;
        await command(limits.writes ? 'COMMIT' : 'ROLLBACK');
        clean = true;
        return result;
      } catch (error) {
        throw toStatementError(error, statement.text);
      } finally {
        clearTimeout(timer);
        limits.signal.removeEventListener('abort', kill);
        // A KILL that is still under way would end the next call's statement.
        if (clean && !killed)
          await new Promise<void>((resolve) =>
            connection.reset((error) => resolve(error ? connection.destroy() : connection.release())),
          );
        else connection.destroy();
      }
    },
    close: () => new Promise((resolve) => pool.end(() => resolve())),
  };
}

/** Over a connection of its own: those of the pool can all be busy. */
function killQuery(account: mysql.ConnectionOptions, thread_id: number): void {
  const killer = mysql.createConnection(account);
  killer.on('error', () => {});
  killer.query(`KILL QUERY ${thread_id}`, () => killer.destroy());
}

/** The binary protocol takes one statement only. Reading ends at the limits, and with it the connection. */
function execute(
  connection: mysql.PoolConnection,
  { text, values, types }: BoundSql,
  limits: Limits,
  zone: string,
): Promise<QueryResult> {
  const rows = createMysqlRows(limits.max_rows, limits.max_bytes, zone);
  const bound = values.map((value, i) => toMysqlValue(value, types[i] ?? 'string', zone));
  const options = { sql: text, values: bound, rowsAsArray: true, typeCast: keepGeometry };
  return new Promise((resolve, reject) => {
    const running = connection.execute(options as never) as unknown as EventEmitter;
    running.on('fields', (fields: readonly MysqlField[] | undefined) => fields && rows.begin(fields));
    running.on('result', (row: unknown) => {
      if (!rows.add(row) && !limits.writes) resolve(rows.result());
    });
    running.on('error', reject);
    running.on('end', () => resolve(rows.result()));
  });
}

function tlsOf({ ssl_mode, ssl_ca, ssl_cert, ssl_key }: NetworkSettings): Pick<mysql.PoolOptions, 'ssl'> {
  if (ssl_mode === 'disable' || (ssl_mode === null && ssl_ca === null)) return {};
  return {
    ssl: {
      rejectUnauthorized: ssl_mode !== 'require',
      verifyIdentity: ssl_mode !== 'require' && ssl_mode !== 'verify-ca',
      ...(ssl_ca !== null && { ca: ssl_ca }),
      ...(ssl_cert !== null && { cert: ssl_cert }),
      ...(ssl_key !== null && { key: ssl_key }),
    },
  };
}
