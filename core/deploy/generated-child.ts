import { randomInt } from 'node:crypto';
import { access, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Snapshot } from '#snapshots/format/format.ts';
import { generate } from '#snapshots/generate/generate.ts';
import { type Leaf, toContent } from '#snapshots/format/tree.ts';

/** What the parent asks; one question at a time. */
export type ProjectQuestion =
  | { readonly ask: 'take'; readonly parts: readonly (readonly [leaf: Leaf, text: string])[] }
  | ({ readonly ask: 'write' } & ProjectJob);

/** The project of all that was taken. */
export interface ProjectJob {
  readonly head: Omit<Snapshot, 'content'>;
  /** Folder of this version, absolute. */
  readonly target: string;
  /** Projects of versions before this one go with their snapshots. */
  readonly oldest: number;
}

/** Null, or why it could not be done. */
export type ProjectAnswer = { readonly fault: string | null };

/** The program that writes one project: of thousands of files, it would hold up the server and fill its memory. */
const leaves: Leaf[] = [];
const texts = new Map<string, string>();

async function answer(question: ProjectQuestion): Promise<void> {
  if (question.ask === 'write') return write(question);
  for (const [leaf, text] of question.parts) {
    leaves.push(leaf);
    texts.set(leaf.hash, text);
  }
}

process.on('message', (question: ProjectQuestion) => {
  void answer(question).then(
    () => process.send?.({ fault: null } satisfies ProjectAnswer),
    (error: unknown) => process.send?.({ fault: String(error) } satisfies ProjectAnswer),
  );
});
process.on('disconnect', () => process.exit());

/** All of the project or nothing. */
async function write({ head, target, oldest }: ProjectJob): Promise<void> {
  const files = [...generate({ ...head, content: toContent(leaves, (hash) => texts.get(hash)) })];
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
