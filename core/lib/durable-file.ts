import { open, rename, rm } from 'node:fs/promises';

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

/** Writes a file so that a crash leaves the old text or the new one. */
export async function writeFileAtomic(path: string, text: string): Promise<void> {
  const draft = `${path}.${process.pid}.new`;
  try {
    await writeFileDurable(draft, text);
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
