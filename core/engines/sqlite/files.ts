import { existsSync, lstatSync, rmSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { FolderFiles } from '../shared/descriptor.ts';
import { AppError, invalidField } from '#core/errors.ts';
import { openDeadline } from '../shared/deadline.ts';
import { resolveSqliteFile } from './file.ts';
import { openSqliteSession } from './process.ts';

/** Milliseconds for checking an uploaded file. */
const LOOK_TIMEOUT = 60_000;
const LOOK = {
  text: 'SELECT quick_check AS found FROM pragma_quick_check LIMIT 1',
  policy: 'trusted',
  max_rows: 1,
  max_bytes: 1_000,
} as const;
const SOUND = JSON.stringify([{ found: 'ok' }]);
/** Suffixes of the files that SQLite stores beside a database. */
const SIDE_FILES = ['-wal', '-shm', '-journal'];

/** The single file of a SQLite connection. An upload replaces it; it cannot be deleted. */
export const SQLITE_FILES: FolderFiles = {
  folder: (database, policy) => dirname(resolveSqliteFile(database, policy)),
  nameFault(name, database, policy) {
    const current = basename(resolveSqliteFile(database, policy));
    return name === current ? null : `This connection is the file ${current}; upload a file under that name to replace it.`;
  },
  deleteFault: 'The file is the database of this connection; replace it with another one, or delete the connection.',
  bytes: (database, policy) => lstatSync(resolveSqliteFile(database, policy)).size,
  async accept(path, target) {
    const deadline = openDeadline(LOOK_TIMEOUT);
    try {
      const session = await openSqliteSession(path, false, deadline.signal);
      try {
        const { rows } = await session.run({ ...LOOK, values: [] }, deadline.signal);
        if (rows !== SOUND) throw new AppError('sql_error', 'The file is damaged.', { cause: rows });
      } finally {
        await session.close();
      }
    } catch (error) {
      if (!(error instanceof AppError) || error.code === 'timeout') throw error;
      throw invalidField('name', `This is not a SQLite database that can be opened. ${error.detail}`);
    } finally {
      deadline.clear();
      removeBeside(path);
    }
    await checkpoint(target);
    removeBeside(target);
  },
  async status({ database }, policy) {
    const path = resolveSqliteFile(database, policy);
    const { size, mtimeMs } = lstatSync(path);
    const name = basename(path);
    const read = { tables: [], rejected_rows: 0, rejected: [], notes: [], offers: [], error: null };
    return {
      items: [{ name, bytes: size, changed_at: mtimeMs, key: name, imported_at: mtimeMs, ...read }],
      reading: false,
      progress: null,
    };
  },
};

/** Checkpoints the write-ahead log of a file. If this process ends before the file is replaced, no committed data is lost. */
async function checkpoint(path: string): Promise<void> {
  if (!SIDE_FILES.some((end) => existsSync(`${path}${end}`))) return;
  const deadline = openDeadline(LOOK_TIMEOUT);
  try {
    const session = await openSqliteSession(path, true, deadline.signal);
    try {
      const { rows } = await session.run({ ...LOOK, text: 'PRAGMA wal_checkpoint(TRUNCATE)', values: [] }, deadline.signal);
      const [found] = JSON.parse(rows) as { log: number; checkpointed: number }[];
      if (found?.log === found?.checkpointed) return;
    } finally {
      await session.close();
    }
  } catch (error) {
    // A file that cannot be read has nothing to save.
    if (error instanceof AppError && error.code === 'database_unreachable' && error.reason === 'failed') return;
    throw error;
  } finally {
    deadline.clear();
  }
  throw new AppError('unavailable', 'The database is being read, so it cannot be replaced now; try again.', { retry_after: 1 });
}

const removeBeside = (path: string): void => SIDE_FILES.forEach((end) => rmSync(`${path}${end}`, { force: true }));
