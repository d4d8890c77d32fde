import { asJson } from '#core/engines/sqlite/placeholder.ts';
import { existsSync } from 'node:fs';
import Library from 'libsql';
import { AppError } from '#core/errors.ts';
import { withDeadline } from '#core/engines/shared/deadline.ts';
import type { BoundStatement, QueryResult } from '#core/lib/sql/result.ts';
import { type SqliteValue, toSqliteValue } from '#core/engines/sqlite/values.ts';
import { toSqliteError } from '#core/engines/sqlite/errors.ts';
import type { Database, Limits } from '../definitions.ts';
import { collectRows } from './sqlite-rows.ts';

/** Maximum wait for another program's write, in milliseconds. */
const BUSY_MS = 5_000;

/** A SQLite file, opened in this process. A statement runs until it ends or reaches its row or byte limit. */
export function openSqlite({ path }: { readonly path: string }): Database {
  let opened: Library.Database | null = null;
  const open = (): Library.Database => {
    // The library would create an empty file.
    if (!existsSync(path)) throw new AppError('database_unreachable', 'The SQLite file does not exist; check its path.');
    return new Library(path, { timeout: BUSY_MS });
  };
  return {
    placeholder: (_number, _element, type) => asJson('?', type),
    query: (bound, limits) =>
      withDeadline(limits.timeout_ms, limits.signal, async (stop) => {
        stop.throwIfAborted();
        try {
          return run((opened ??= open()), bound, limits);
        } catch (error) {
          throw toFault(error, bound.text, limits.writes);
        }
      }),
    close: async () => void opened?.close(),
  };
}

function run(database: Library.Database, { text, values, types }: BoundStatement, limits: Limits): QueryResult {
  const { writes } = limits;
  database.exec(`pragma query_only = ${writes ? 0 : 1}`);
  const statement = database.prepare(text);
  const bound = values.map((value, i) => toSqliteValue(value, types[i] ?? 'string'));
  const described = statement.columns();
  if (described.length === 0) {
    if (!writes) throw new AppError('not_read_only', 'The statement writes, but this session is read-only.');
    return { columns: [], rows: [], truncated: false, affected_rows: statement.run(...bound).changes };
  }
  const cells = statement
    .raw(true)
    .safeIntegers(true)
    .iterate(...bound) as Iterable<SqliteValue[]>;
  return collectRows(described, cells, limits);
}

function toFault(error: unknown, text: string, writes: boolean): unknown {
  if (!(error instanceof Library.SqliteError)) return error;
  const { message, rawCode = null } = error as Error & { rawCode?: number };
  return toSqliteError({ message, code: rawCode, refused: null }, { text, policy: writes ? 'write' : 'read' });
}
