import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Progress of reading the changed files of a folder. */
export interface ReadProgress {
  readonly done: number;
  readonly of: number;
  /** The file or pattern that is being read. */
  readonly key: string | null;
}

export interface Progress {
  show(this: void, progress: ReadProgress): void;
  end(this: void): void;
}

const NAME = 'progress.json';
const EVERY_MS = 250;

/** Stored in a file, because another process than the reading one may show it. */
export function createProgress(cache_path: string): Progress {
  const path = join(cache_path, NAME);
  let shown_at = -Infinity;
  return {
    show(progress) {
      if (performance.now() - shown_at < EVERY_MS) return;
      shown_at = performance.now();
      ignoreWriteErrors(() => {
        writeFileSync(`${path}.new`, JSON.stringify(progress), { mode: 0o600 });
        renameSync(`${path}.new`, path);
      });
    },
    end: () => ignoreWriteErrors(() => rmSync(path, { force: true })),
  };
}

/** Writes optional data: a full disk must not stop the import. */
export function ignoreWriteErrors(write: () => void): void {
  try {
    write();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
  }
}

/** Null: there is no progress file. */
export function readProgress(cache_path: string): ReadProgress | null {
  try {
    return JSON.parse(readFileSync(join(cache_path, NAME), 'utf8')) as ReadProgress;
  } catch {
    return null;
  }
}
