import { createClient, type InValue, LibsqlError } from '@libsql/client';
import { AppError } from '#core/errors.ts';
import { untilAborted, withDeadline } from '#core/engines/shared/deadline.ts';
import { type SqliteValue, toSqliteValue } from '#core/engines/sqlite/values.ts';
import type { Database } from '../definitions.ts';
import { collectRows } from './sqlite-rows.ts';

/** A libSQL server over HTTP. */
export function openLibsql({ url, token }: { readonly url: string; readonly token: string }): Database {
  const client = createClient({ url, authToken: token, intMode: 'bigint' });
  return {
    async query({ text, values, types }, limits) {
      const { writes, timeout_ms, signal } = limits;
      const args = values.map((value, i) => toSqliteValue(value, types[i] ?? 'string') as InValue);
      return withDeadline(timeout_ms, signal, async (stop) => {
        const transaction = await untilAborted(stop, client.transaction(writes ? 'write' : 'read')).catch(toFault);
        try {
          const found = await untilAborted(stop, transaction.execute({ sql: text, args }));
          // A commit that is under way is waited for: nobody could say whether it happened.
          if (writes) await transaction.commit();
          else if (found.columns.length === 0 || found.rowsAffected > 0) throw new AppError('not_read_only', NOT_READ_ONLY);
          const described = found.columns.map((name, i) => ({ name, type: found.columnTypes[i] ?? null }));
          const lines = found.rows.map((row) => described.map((_, i) => toCell(row[i])));
          const result = collectRows(described, lines, limits);
          return described.length > 0 ? result : { ...result, affected_rows: found.rowsAffected };
        } catch (error) {
          return toFault(error);
        } finally {
          // The library rolls back what is open in it, as soon as the statement ends.
          transaction.close();
        }
      });
    },
    close: async () => client.close(),
  };
}

/** What it changed is rolled back with its transaction. */
const NOT_READ_ONLY = 'The statement writes or returns no rows, but this session is read-only.';

/** What the server said of a statement, in its own words. */
function toFault(error: unknown): never {
  if (!(error instanceof LibsqlError)) throw error;
  const { code, message } = error;
  if (code.startsWith('SQLITE_READONLY')) {
    throw new AppError('not_read_only', 'The statement writes, but this session is read-only.');
  }
  if (code.startsWith('SQLITE_BUSY')) throw new AppError('unavailable', 'The database is busy with another write; try again.');
  if (!code.startsWith('SQL')) throw new AppError('database_unreachable', message, { cause: error });
  // The library puts codes in front, and the server where it found the fault.
  const said = message.replace(/^(?:SQL[A-Z_]*: )+/, '').replace(/ \(at offset \d+\)$/, '');
  throw new AppError('sql_error', said.replace(/^(?:SQLite error|SQL(?:ite)? input error|SQL string could not be parsed): /, ''));
}

const toCell = (cell: unknown): SqliteValue => (cell instanceof ArrayBuffer ? new Uint8Array(cell) : (cell as SqliteValue));
