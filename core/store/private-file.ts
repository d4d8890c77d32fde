import { chmodSync, closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes an SQLite file, and what SQLite keeps beside it, readable by this user alone; a folder that is missing is made so too.
 * A folder that is there already is the operator's.
 */
export function keepPrivate(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  // SQLite gives its companions the mode of the file.
  closeSync(openSync(file, 'a', 0o600));
  for (const path of [file, `${file}-wal`, `${file}-shm`]) {
    try {
      chmodSync(path, 0o600);
    } catch {
      // It is not there, or belongs to another user, who decides.
    }
  }
}
