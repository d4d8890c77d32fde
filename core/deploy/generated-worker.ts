import { randomInt } from 'node:crypto';
import { access, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseTree, toContent } from '#snapshots/tree.ts';
import { type GenerateJob, generatedFiles } from './generated.ts';

declare const self: Worker;

self.addEventListener('message', ({ data }: MessageEvent<GenerateJob>) => {
  void write(data).then(
    () => self.postMessage(null),
    (error: unknown) => self.postMessage(String(error)),
  );
});

/** All of the project or nothing. */
async function write({ head, tree, texts, target, oldest }: GenerateJob): Promise<void> {
  const { leaves } = parseTree(tree);
  const lines = texts.split('\n');
  const text_of = new Map(leaves.map(({ hash }, n) => [hash, lines[n]]));
  const snapshot = { ...head, content: toContent(leaves, (hash) => text_of.get(hash)) };
  const files = await generatedFiles(snapshot);
  if (await isWritten(target, files, head.checksum)) return;
  // Servers in containers have the same process id.
  const draft = `${target}.${randomInt(1e9)}.draft`;
  try {
    for (const { path, content } of files) {
      const file = join(draft, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, content);
    }
    await rm(target, { recursive: true, force: true });
    await rename(draft, target);
    await prune(dirname(target), oldest);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw error;
  }
}

/** Whether the folder has every file of this snapshot. What people changed in them stays. */
async function isWritten(target: string, files: readonly { readonly path: string }[], checksum: string): Promise<boolean> {
  try {
    await Promise.all(files.map(({ path }) => access(join(target, path))));
    return (await readFile(join(target, 'package.json'), 'utf8')).includes(checksum);
  } catch {
    return false;
  }
}

/** Removes old projects, and drafts that a program left when it was killed. Nothing else in the folder is ours. */
async function prune(folder: string, oldest: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const version = /^(\d+)(?:\.\d+\.draft)?$/.exec(name)?.[1];
    if (version !== undefined && Number(version) < oldest) await rm(join(folder, name), { recursive: true, force: true });
  }
}
