import { lstatSync, readdirSync } from 'node:fs';
import { unlink } from 'node:fs/promises';
import { join } from 'node:path';

/** Beginning of the names of files that are not all there yet; a folder of files leaves hidden ones out. */
export const ARRIVING = '.upload-';
/** Milliseconds after which such a file belongs to nobody. */
const ABANDONED = 24 * 3_600_000;

/**
 * Of everything below a folder; what was abandoned half sent does not count. Links are not followed: `recursive` of `readdirSync`
 * follows them on Bun, and ends at one that leads to itself.
 */
export function folderBytes(folder: string): number {
  let sum = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) sum += folderBytes(path);
    if (!entry.isFile()) continue;
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) continue;
    if (entry.name.startsWith(ARRIVING) && Date.now() - found.mtimeMs > ABANDONED) void unlink(path).catch(() => undefined);
    else sum += found.size;
  }
  return sum;
}
