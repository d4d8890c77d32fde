import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** How far reading the changed files of a folder is. */
export interface ReadProgress {
  readonly done: number;
  readonly of: number;
  /** The file, or pattern, that is being read. */
  readonly key: string | null;
}

export interface Progress {
  show(this: void, progress: ReadProgress): void;
  end(this: void): void;
}

const NAME = 'progress.json';
const EVERY_MS = 250;

/** Kept in a file: whoever is asked may be another program than the one that reads. */
export function createProgress(place: string): Progress {
  const path = join(place, NAME);
  let shown_at = -Infinity;
  return {
    show(progress) {
      if (performance.now() - shown_at < EVERY_MS) return;
      shown_at = performance.now();
      unlessRefused(() => {
        writeFileSync(`${path}.new`, JSON.stringify(progress), { mode: 0o600 });
        renameSync(`${path}.new`, path);
      });
    },
    end: () => unlessRefused(() => rmSync(path, { force: true })),
  };
}

/** Writes what reading goes on without: a full disk keeps nobody from it. */
export function unlessRefused(write: () => void): void {
  try {
    write();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
  }
}

/** Null: nothing is known of it. */
export function readProgress(place: string): ReadProgress | null {
  try {
    return JSON.parse(readFileSync(join(place, NAME), 'utf8')) as ReadProgress;
  } catch {
    return null;
  }
}
