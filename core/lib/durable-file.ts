import { open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** Drafts of programs that were killed; a living one is done with its own within this time. */
const ABANDONED_MS = 3_600_000;

/** Writes a file that only its owner may read, and answers when it is on the disk. A crash may leave half of it. */
export async function writeFileDurable(path: string, text: string): Promise<void> {
  const file = await open(path, 'w', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Writes a file so that a crash leaves the old text or the new one, and answers when the new one stays. */
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

/** Where the next text of a file is written. Programs in containers that share a folder have the same process id. */
export const draftOf = (path: string, id: string = crypto.randomUUID().slice(0, 8)): string => `${path}.${id}.new`;
export const isDraft = (name: string): boolean => name.endsWith('.new');

/** Removes drafts of a file, or what else stands beside it as `<path>.<name>`, once whoever wrote it must be gone. */
export async function sweepBeside(path: string, isOurs: (name: string) => boolean = isDraft): Promise<void> {
  const folder = dirname(path);
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((one) => one.startsWith(`${basename(path)}.`) && isOurs(one))) {
    const file = join(folder, name);
    const written = await stat(file).catch(() => null);
    if (written !== null && written.mtimeMs < Date.now() - ABANDONED_MS) await rm(file, { force: true }).catch(() => undefined);
  }
}

/** Makes the renames in the folder of a file durable. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
