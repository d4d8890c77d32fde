import { lstatSync, readdirSync } from 'node:fs';
import { unlink } from 'node:fs/promises';
import { join } from 'node:path';

/** Prefix of files that are being uploaded. A folder connection ignores hidden files. */
export const ARRIVING = '.upload-';
/** Milliseconds after which an upload counts as abandoned. */
const ABANDONED_MS = 24 * 3_600_000;

/**
 * Bytes of all files below a folder, without abandoned uploads. Links are not followed: `recursive` of `readdirSync` follows them
 * on Bun, and fails on a link to itself.
 */
export function folderBytes(folder: string): number {
  let sum = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) sum += folderBytes(path);
    if (!entry.isFile()) continue;
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) continue;
    if (entry.name.startsWith(ARRIVING) && Date.now() - found.mtimeMs > ABANDONED_MS) void unlink(path).catch(() => undefined);
    else sum += found.size;
  }
  return sum;
}
