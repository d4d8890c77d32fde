import { join } from 'node:path';
import type { App } from '#core/app.ts';
import { productFile } from '#core/product.ts';
import type { Snapshot } from '#snapshots/format.ts';
import { readDeployment } from './deployment.ts';
import { contentOf, KEPT_SNAPSHOTS, type StoredSnapshot, textsOf } from './stored-snapshots.ts';

/** The project that a snapshot is, as source text. */
export async function generatedFiles(snapshot: Snapshot): Promise<{ path: string; content: string }[]> {
  const { generate } = await import('#snapshots/generate/generate.ts');
  return [...generate(snapshot)];
}

/** A stored version as a whole. */
export async function snapshotOf(app: App, { version, checksum, created_at, tree }: StoredSnapshot): Promise<Snapshot> {
  return { version, checksum, created_at, content: await contentOf(app, tree.leaves) };
}

/** What the worker is told. */
export interface GenerateJob {
  readonly head: Omit<Snapshot, 'content'>;
  /** Text of the tree. */
  readonly tree: string;
  /** The canonical text of each leaf, a line each: a text is handed over without being read. */
  readonly texts: string;
  /** Folder of this version, absolute. */
  readonly target: string;
  /** Projects of versions before this one go with their snapshots. */
  readonly oldest: number;
}

/** A version that is superseded sooner is not written: it can still be asked for. */
const QUIET_MS = 1_000;

/**
 * Writes the project to `SVC_GENERATED_DIR/<version>/`, unless all of it is there, once no newer one came for a second, in a thread
 * of its own: no caller waits for hundreds of files.
 */
export async function writeGenerated(app: App, stored: StoredSnapshot): Promise<void> {
  await app.sleep(QUIET_MS);
  await app.generated_lock(() => writeNow(app, stored));
}

async function writeNow(app: App, stored: StoredSnapshot): Promise<void> {
  if ((await readDeployment(app)).active_version !== stored.version) return;
  const target = join(app.env.SVC_GENERATED_DIR, String(stored.version));
  const { version, checksum, created_at, tree } = stored;
  const found = await textsOf(app, tree.leaves);
  const texts = tree.leaves.map(({ hash }) => found.get(hash)).join('\n');
  const head = { version, checksum, created_at };
  const job: GenerateJob = { head, tree: tree.text, texts, target, oldest: version - KEPT_SNAPSHOTS + 1 };
  const worker = new Worker(productFile('core/deploy/generated-worker.ts'));
  const fault = await new Promise<string | null>((resolve) => {
    worker.addEventListener('message', ({ data }: MessageEvent<string | null>) => resolve(data));
    worker.addEventListener('error', ({ message }) => resolve(message));
    worker.postMessage(job);
  });
  worker.terminate();
  if (fault !== null) app.log.from('deploy').warning('generated project not written', { version: stored.version, reason: fault });
}
