import type { EventEmitter } from 'node:events';
import mysql from 'mysql2';
import type { QueryResult } from '#core/engines/shared/source.ts';
import { toConnectError, toStatementError } from '#core/engines/mysql/errors.ts';
import { createMysqlRows } from '#core/engines/mysql/rows.ts';
import { type MysqlField, toMysqlValue } from '#core/engines/mysql/values.ts';
import type { Database, Limits, NetworkSettings } from '../definitions.ts';
import type { BoundSql } from '../sql.ts';

/** MySQL and MariaDB. */
export function openMysql(settings: NetworkSettings): Database {
  const { collation = null, offset } = settings.session;
  const zone = offset ?? '+00:00';
  const setUp = `SET SESSION time_zone = '${zone}'${collation === null ? '' : `, collation_connection = '${collation}'`}`;
  const pool = mysql.createPool({
    host: settings.host,
    port: settings.port,
    database: settings.database,
    user: settings.username,
    password: settings.password,
    ...tlsOf(settings),
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
      const kill = () => pool.query(`KILL QUERY ${connection.threadId}`, () => {});
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
        if (clean) connection.release();
        else connection.destroy();
      }
    },
    close: () => new Promise((resolve) => pool.end(() => resolve())),
  };
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

function keepGeometry(field: { readonly type: string; buffer(): Buffer }, next: () => unknown): unknown {
  return field.type === 'GEOMETRY' ? field.buffer() : next();
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
