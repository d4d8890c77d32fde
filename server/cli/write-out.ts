import { realpath, stat, writeFile } from 'node:fs/promises';
import { writeFileAtomic } from '#core/lib/durable-file.ts';

/** Writes what a person asked for into a file that only its owner may read, all of it or nothing. Devices and pipes are written to as they are. */
export async function writeOut(path: string, text: string): Promise<void> {
  const there = await stat(path).catch(() => null);
  if (there !== null && !there.isFile()) await writeFile(path, text);
  else await writeFileAtomic(there === null ? path : await realpath(path), text);
}
