import { Database, SQLiteError } from 'bun:sqlite';
import { AppError } from '#core/errors.ts';
import { pathOfFileUrl } from '#core/lib/file-url.ts';

/** A server that stops needs at most this long. */
const WAIT_MS = 5_000;

/**
 * Makes sure that no other server uses an embedded database. The system releases the lock when the process ends, however it ends.
 * @returns releases it.
 * @throws AppError when another server holds it.
 */
export function lockDatabase(url: string): () => void {
  const path = pathOfFileUrl(url);
  if (path === null) return () => undefined;
  let lock: Database | undefined;
  try {
    lock = new Database(`${path}-server`);
    lock.run(`PRAGMA busy_timeout = ${WAIT_MS}`);
    lock.run('BEGIN EXCLUSIVE');
  } catch (error) {
    lock?.close();
    if (error instanceof SQLiteError && error.code === 'SQLITE_BUSY') {
      throw new AppError('conflict', `Another server uses ${path}. Stop it, or set SVC_DATA_DIR to another folder.`, {
        cause: error,
      });
    }
    // Opening the database itself reports a folder that is missing, full or read-only.
  }
  return () => lock?.close();
}
