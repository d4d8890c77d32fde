import { randomInt } from 'node:crypto';
import { access, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Snapshot } from '#snapshots/format/format.ts';
import { generate } from '#snapshots/generate/generate.ts';
import { type Leaf, toContent } from '#snapshots/format/tree.ts';

/** A request of the parent. It sends one at a time. */
export type ProjectRequest =
  | { readonly ask: 'take'; readonly parts: readonly (readonly [leaf: Leaf, text: string])[] }
  | ({ readonly ask: 'write' } & ProjectJob);

/** The project to write, of all leaves that were sent. */
export interface ProjectJob {
  readonly head: Omit<Snapshot, 'content'>;
  /** Absolute path of the folder of this version. */
  readonly target: string;
  /** Projects of older versions are deleted. */
  readonly oldest: number;
}

/** `fault` is the reason when the request failed. */
export type ProjectAnswer = { readonly fault: string | null };

// A program that writes one project. Thousands of files would block the server and fill its memory.
const leaves: Leaf[] = [];
const texts = new Map<string, string>();

async function handle(request: ProjectRequest): Promise<void> {
  if (request.ask === 'write') return write(request);
  for (const [leaf, text] of request.parts) {
    leaves.push(leaf);
    texts.set(leaf.hash, text);
  }
}

process.on('message', (request: ProjectRequest) => {
  void handle(request).then(
    () => process.send?.({ fault: null } satisfies ProjectAnswer),
    (error: unknown) => process.send?.({ fault: String(error) } satisfies ProjectAnswer),
  );
});
process.on('disconnect', () => process.exit());

/** Writes the whole project or nothing. */
async function write({ head, target, oldest }: ProjectJob): Promise<void> {
  const files = [...generate({ ...head, content: toContent(leaves, (hash) => texts.get(hash)) })];
  if (await isWritten(target, files, head.checksum)) return;
  // Random, because servers in different containers can have the same process id.
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

/** Whether the folder has every file of this snapshot. If so, it is not written again, and edits in it stay. */
async function isWritten(target: string, files: readonly { readonly path: string }[], checksum: string): Promise<boolean> {
  try {
    await Promise.all(files.map(({ path }) => access(join(target, path))));
    return (await readFile(join(target, 'package.json'), 'utf8')).includes(checksum);
  } catch {
    return false;
  }
}

/** Deletes old projects, and drafts that a killed program left. Other entries of the folder belong to people. */
async function prune(folder: string, oldest: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const version = /^(\d+)(?:\.\d+\.draft)?$/.exec(name)?.[1];
    if (version !== undefined && Number(version) < oldest) await rm(join(folder, name), { recursive: true, force: true });
  }
}
