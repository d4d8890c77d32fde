import type { Lock } from '#core/store/open.ts';
import type { Platform } from '#core/platform/platform.ts';
import { type WithSnapshots, contentOf, KEPT_SNAPSHOTS, type StoredSnapshot, textsOf } from '#core/versions/stored-snapshots.ts';
import { join } from 'node:path';
import { startChild } from '#core/engines/shared/files/child.ts';
import { AppError } from '#core/errors.ts';
import { pagesOf } from '#core/lib/slices.ts';
import type { Snapshot } from '#snapshots/format/format.ts';
import { readDeployment } from '#core/versions/deployment.ts';
import type { ProjectAnswer, ProjectQuestion } from './generated-child.ts';

/** The project that a snapshot is, as source text. */
export async function generatedFiles(snapshot: Snapshot): Promise<{ path: string; content: string }[]> {
  const { generate } = await import('#snapshots/generate/generate.ts');
  return [...generate(snapshot)];
}

/** A stored version as a whole. */
export async function snapshotOf(
  app: Platform & WithSnapshots,
  { version, checksum, created_at, tree }: StoredSnapshot,
): Promise<Snapshot> {
  return { version, checksum, created_at, content: await contentOf(app, tree.leaves) };
}

/** A version that is superseded sooner is not written: it can still be asked for. */
const QUIET_MS = 1_000;
/** Entities that are handed over together. */
const PAGE = 500;

/**
 * Writes the project to `SVC_GENERATED_DIR/<version>/`, unless all of it is there, once no newer one came for a second, in a program
 * of its own: no caller waits for thousands of files, and its memory goes with it.
 */
export async function writeGenerated(app: Platform & WithGenerated & WithSnapshots, stored: StoredSnapshot): Promise<void> {
  await app.sleep(QUIET_MS);
  await app.generated_lock(() => writeNow(app, stored));
}

async function writeNow(app: Platform & WithSnapshots, stored: StoredSnapshot): Promise<void> {
  const { version, checksum, created_at, tree } = stored;
  const isSuperseded = async () => (await readDeployment(app)).active_version !== version;
  if (await isSuperseded()) return;
  const target = join(app.env.SVC_GENERATED_DIR, String(version));
  const child = startChild<ProjectQuestion, ProjectAnswer>('project-child', {
    toError: ({ message }) => new AppError('internal', message),
  });
  try {
    for (const leaves of pagesOf(tree.leaves, PAGE)) {
      const texts = await textsOf(app, leaves);
      await ask({ ask: 'take', parts: leaves.map((leaf) => [leaf, texts.get(leaf.hash) ?? '']) });
      if (await isSuperseded()) return;
    }
    await ask({ ask: 'write', head: { version, checksum, created_at }, target, oldest: version - KEPT_SNAPSHOTS + 1 });
  } catch (error) {
    const reason = error instanceof AppError ? error.detail : String(error);
    app.log.from('deploy').warning('generated project not written', { version, reason });
  } finally {
    await child.kill();
  }

  async function ask(question: ProjectQuestion): Promise<void> {
    const { fault } = await child.ask(question);
    if (fault !== null) throw new AppError('internal', fault);
  }
}

export interface WithGenerated {
  readonly generated_lock: Lock;
}
