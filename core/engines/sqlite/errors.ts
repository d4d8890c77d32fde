import { AppError } from '#core/errors.ts';
import { messageStart } from '../shared/bounded-text.ts';
import type { SqliteFault, SqliteRun } from './messages.ts';

/** `reason` of the error when a read-only handle finds the journal of an interrupted write. Only a writer can roll it back. */
export const NEEDS_RECOVERY = 'needs_recovery';

const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;
const SQLITE_READONLY = 8;
const SQLITE_READONLY_RECOVERY = 264;
const SQLITE_READONLY_ROLLBACK = 776;
const SQLITE_CORRUPT = 11;
const SQLITE_CANTOPEN = 14;
const SQLITE_NOTADB = 26;

/** @param statement the statement that failed and, when it ran, its policy. */
export function toSqliteError(
  { message, code, refused }: SqliteFault,
  statement: Partial<Pick<SqliteRun, 'text' | 'policy'>>,
): AppError {
  const cause = { message, code };
  const primary = code === null ? null : code & 0xff;
  const reading = statement.policy === 'read';
  if (refused !== null) {
    return reading
      ? new AppError('not_read_only', `${refused} is not allowed in a read-only statement.`, { cause })
      : new AppError('sql_error', `${refused} is not allowed. A statement can only use the tables of its own file.`, { cause });
  }
  if (code === SQLITE_READONLY_RECOVERY || code === SQLITE_READONLY_ROLLBACK) {
    return new AppError('unavailable', 'The SQLite file has an interrupted write that must be completed first; try again.', {
      cause,
      reason: NEEDS_RECOVERY,
    });
  }
  if (primary === SQLITE_READONLY && reading) {
    return new AppError('not_read_only', 'The statement writes, but this session is read-only.', { cause });
  }
  if (primary === SQLITE_BUSY || primary === SQLITE_LOCKED) {
    return new AppError('unavailable', 'Another program is writing to this SQLite file; try again.', { cause, retry_after: 1 });
  }
  if (primary === SQLITE_CANTOPEN) {
    return new AppError('database_unreachable', 'The SQLite file cannot be opened; check its name and its permissions.', {
      cause,
      reason: 'database_missing',
    });
  }
  if (primary === SQLITE_NOTADB || primary === SQLITE_CORRUPT) {
    return new AppError('database_unreachable', 'The file is not a readable SQLite database.', { cause, reason: 'failed' });
  }
  const detail = messageStart(message);
  const position = statement.text === undefined ? undefined : positionOf(detail, statement.text);
  return new AppError('sql_error', detail, { cause, ...(position === undefined ? {} : { position }) });
}

/** SQLite names the offending word without a position. The position is known when the word occurs once in the text. */
export function positionOf(message: string, text: string): number | undefined {
  const word = /^near "(.+)": |^no such (?:table|column|function): (?:\w+\.)?(\S+)$/.exec(message);
  const found = word?.[1] ?? word?.[2];
  if (!found) return undefined;
  const index = text.indexOf(found);
  return index >= 0 && text.indexOf(found, index + 1) < 0 ? index : undefined;
}
