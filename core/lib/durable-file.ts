import { open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** Drafts older than this many milliseconds are from a killed program, because writing takes less time. */
const ABANDONED_MS = 3_600_000;

/** Writes a file that only its owner may read. Resolves when it is on the disk. After a crash it may be incomplete. */
export async function writeFileDurable(path: string, text: string): Promise<void> {
  const file = await open(path, 'w', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Replaces a file so that after a crash it contains the old text or the new one. Resolves when the new one is durable. */
export async function writeFileAtomic(path: string, text: string): Promise<void> {
  const draft = draftOf(path);
  try {
    await writeFileDurable(draft, text);
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  await syncFolder(path);
}

/**
 * Path of the draft of a file's next text. The name is random, because programs in containers that share a folder can have the
 * same process ID.
 */
export const draftOf = (path: string, id: string = crypto.randomUUID().slice(0, 8)): string => `${path}.${id}.new`;
export const isDraft = (name: string): boolean => name.endsWith('.new');

/** Removes old drafts of a file, or other files named `<path>.<name>`, once their writer must have ended. */
export async function sweepBeside(path: string, isOurs: (name: string) => boolean = isDraft): Promise<void> {
  const folder = dirname(path);
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((one) => one.startsWith(`${basename(path)}.`) && isOurs(one))) {
    const file = join(folder, name);
    const written = await stat(file).catch(() => null);
    if (written !== null && written.mtimeMs < Date.now() - ABANDONED_MS) await rm(file, { force: true }).catch(() => undefined);
  }
}

/** Makes renames in the folder of a file durable. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
