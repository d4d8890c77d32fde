import type { Lock } from '#core/store/open.ts';
import type { Platform } from '#core/platform/platform.ts';
import { type WithSnapshots, contentOf, MAX_SNAPSHOTS, type StoredSnapshot, textsOf } from '#core/versions/stored-snapshots.ts';
import { join } from 'node:path';
import { startChild } from '#core/engines/shared/files/child.ts';
import { AppError } from '#core/errors.ts';
import { reasonOf } from '#core/process/log.ts';
import { pagesOf } from '#core/lib/slices.ts';
import type { Snapshot } from '#snapshots/format/format.ts';
import { readDeployment } from '#core/versions/deployment.ts';
import type { ProjectAnswer, ProjectRequest } from './generated-child.ts';

/** The source files of the project that a snapshot generates. */
export async function generatedFiles(snapshot: Snapshot): Promise<{ path: string; content: string }[]> {
  const { generate } = await import('#snapshots/generate/generate.ts');
  return [...generate(snapshot)];
}

/** A stored version with its whole content. */
export async function snapshotOf(
  app: Platform & WithSnapshots,
  { version, checksum, created_at, tree }: StoredSnapshot,
): Promise<Snapshot> {
  return { version, checksum, created_at, content: await contentOf(app, tree.leaves) };
}

/** A version that is superseded within this time is not written. It can still be downloaded. */
const DELAY_MS = 1_000;
/** Entities in one request to the child. */
const ENTITIES_PER_REQUEST = 500;

/**
 * Writes the project to `SVC_GENERATED_DIR/<version>/`, unless it is complete there, after a second without a newer version. A child
 * program does it, so that thousands of files neither block callers nor fill the memory of the server.
 */
export async function writeGenerated(app: Platform & WithGenerated & WithSnapshots, stored: StoredSnapshot): Promise<void> {
  await app.sleep(DELAY_MS);
  await app.generated_lock(() => writeNow(app, stored));
}

async function writeNow(app: Platform & WithSnapshots, stored: StoredSnapshot): Promise<void> {
  const { version, checksum, created_at, tree } = stored;
  const isSuperseded = async () => (await readDeployment(app)).active_version !== version;
  if (await isSuperseded()) return;
  const target = join(app.env.SVC_GENERATED_DIR, String(version));
  const child = startChild<ProjectRequest, ProjectAnswer>('project-child', {
    toError: ({ message }) => new AppError('internal', message),
  });
  try {
    for (const leaves of pagesOf(tree.leaves, ENTITIES_PER_REQUEST)) {
      const texts = await textsOf(app, leaves);
      await ask({ ask: 'take', parts: leaves.map((leaf) => [leaf, texts.get(leaf.hash) ?? '']) });
      if (await isSuperseded()) return;
    }
    await ask({ ask: 'write', head: { version, checksum, created_at }, target, oldest: version - MAX_SNAPSHOTS + 1 });
  } catch (error) {
    app.log.from('deploy').warning('generated project not written', { version, reason: reasonOf(error) });
  } finally {
    await child.kill();
  }

  async function ask(request: ProjectRequest): Promise<void> {
    const { fault } = await child.ask(request);
    if (fault !== null) throw new AppError('internal', fault);
  }
}

export interface WithGenerated {
  readonly generated_lock: Lock;
}
