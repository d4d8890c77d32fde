import { readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** What nobody has used for so long goes; it is made again when it is needed. */
export const UNUSED_MS = 7 * 24 * 3_600_000;
/** A use is noted so often at most. */
const NOTED_MS = 3_600_000;
/** Its time is that of the last use. */
const MARK = 'used';
/** A folder that is being removed. */
const GONE = '.gone';

const usedAt = (folder: string): number | undefined =>
  (statSync(join(folder, MARK), { throwIfNoEntry: false }) ?? statSync(folder, { throwIfNoEntry: false }))?.mtimeMs;

/** Notes that a folder, which exists, is used, and removes those beside it that are not. */
export function noteUse(folder: string, now = Date.now()): void {
  const mark = statSync(join(folder, MARK), { throwIfNoEntry: false });
  if (mark !== undefined && Math.abs(now - mark.mtimeMs) <= NOTED_MS) return;
  writeFileSync(join(folder, MARK), '');
  removeUnused(dirname(folder), now);
}

/** Removes the folders directly below `root` that were not used for long: what they were made for is deleted, or set otherwise by now. */
export function removeUnused(root: string, now = Date.now()): void {
  for (const name of namesIn(root)) {
    const folder = join(root, name);
    const used_at = usedAt(folder);
    if (used_at === undefined || now - used_at < UNUSED_MS) continue;
    const gone = name.endsWith(GONE) ? folder : `${folder}${GONE}`;
    try {
      // Whoever comes meanwhile finds it whole or not at all.
      if (gone !== folder) renameSync(folder, gone);
      rmSync(gone, { recursive: true, force: true });
    } catch {
      // Another program was first, or the next turn tries again.
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
