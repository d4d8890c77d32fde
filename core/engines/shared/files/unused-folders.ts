import { readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Milliseconds after which an unused folder is removed. It is created again when it is needed. */
export const UNUSED_MS = 7 * 24 * 3_600_000;
/** Minimum time between two recorded uses. */
const NOTED_MS = 3_600_000;
/** The modification time of this file is the last use. */
const MARK = 'used';
/** Suffix of a folder that is being removed. */
const GONE = '.gone';

const usedAt = (folder: string): number | undefined =>
  (statSync(join(folder, MARK), { throwIfNoEntry: false }) ?? statSync(folder, { throwIfNoEntry: false }))?.mtimeMs;

/** Records a use of an existing folder, and removes unused folders beside it. */
export function noteUse(folder: string, now = Date.now()): void {
  const mark = statSync(join(folder, MARK), { throwIfNoEntry: false });
  if (mark !== undefined && Math.abs(now - mark.mtimeMs) <= NOTED_MS) return;
  writeFileSync(join(folder, MARK), '');
  removeUnused(dirname(folder), now);
}

/**
 * Removes the folders directly below `root` that were not used for `UNUSED_MS`: their connection is deleted or has other
 * settings.
 */
export function removeUnused(root: string, now = Date.now()): void {
  for (const name of namesIn(root)) {
    const folder = join(root, name);
    const used_at = usedAt(folder);
    if (used_at === undefined || now - used_at < UNUSED_MS) continue;
    const gone = name.endsWith(GONE) ? folder : `${folder}${GONE}`;
    try {
      // After the rename a concurrent reader finds either the whole folder or none.
      if (gone !== folder) renameSync(folder, gone);
      rmSync(gone, { recursive: true, force: true });
    } catch {
      // Another process removed it, or the next run tries again.
    }
  }
}

function namesIn(root: string): string[] {
  try {
    return readdirSync(root, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
  } catch {
    return [];
  }
}
