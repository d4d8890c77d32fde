import type { SnapshotEvent } from '#core/contract/deploy/control.ts';
import { AppError } from '#core/errors.ts';
import type { Log } from '#core/process/log.ts';
import type { Leaf } from '#snapshots/format/tree.ts';
import { createKnownTrees, Lacking, type NewSnapshot } from './apply-news.ts';
import type { LoadRegistry } from '#mcp-host/registry/load-registry.ts';
import type { Registry } from '#mcp-host/registry/registry.ts';
import type { SnapshotDraft, SnapshotFile } from './snapshot-file.ts';

export interface SnapshotTakerOptions {
  readonly file: SnapshotFile;
  readonly log: Log;
  readonly loadRegistry: LoadRegistry;
  readonly held: () => Registry | null;
  /** What is held is to be replaced also by the same, sent as a whole. */
  readonly isStale: () => boolean;
  /** Serves a registry from now on; rejects when its address cannot be opened. @param fresh it was sent now. */
  readonly take: (registry: Registry, fresh: boolean) => Promise<void>;
  /** Makes what is served durable. */
  readonly keep: (draft: (() => Promise<SnapshotDraft>) | null) => Promise<void>;
  readonly acknowledge: (answer: { error?: string; load_ms?: number }) => void;
  /** Has the server send everything. */
  readonly askForAll: () => void;
}

export interface SnapshotTaker {
  take(news: SnapshotEvent): Promise<void>;
  /** A tree that the server may lead on from. */
  remember(checksum: string, leaves: readonly Leaf[]): void;
}

/** Brings a host to the snapshots that it is told of: put together, loaded, served, kept, acknowledged. */
export function createSnapshotTaker(options: SnapshotTakerOptions): SnapshotTaker {
  const { file, log, held, loadRegistry } = options;
  const trees = createKnownTrees();

  /** What is new to this host; null when it has it already. */
  const newIn = ({ delta, ...head }: SnapshotEvent): NewSnapshot | null => {
    const registry = held();
    const same = registry?.snapshot_version === head.version && registry.checksum === head.checksum;
    if (registry !== null && same && !(options.isStale() && delta?.from === null)) return null;
    if (delta === undefined) throw new Lacking(`The host does not have snapshot ${head.version}.`);
    return trees.apply({ ...head, delta });
  };

  /** A registry of what came, of what runs, and of what only the disk has: the server may lead on from an older snapshot. */
  const load = async ({ version, checksum, created_at, tree: { leaves }, blobs }: NewSnapshot): Promise<Registry> => {
    const before = held();
    const isKnown = (leaf: Leaf) => before?.loaded.has(leaf) === true || blobs.has(leaf.hash);
    const missing = leaves.filter((leaf) => !isKnown(leaf)).map(({ hash }) => hash);
    const kept = missing.length === 0 ? new Map<string, string>() : await file.texts(missing);
    if (missing.some((hash) => !kept.has(hash))) throw new Lacking(`The host lacks parts of snapshot ${version}.`);
    const textOf = (hash: string) => blobs.get(hash) ?? kept.get(hash);
    return loadRegistry({ version, checksum, created_at, leaves, textOf }, before);
  };

  /** @returns its copy, which is still being written. */
  const serve = async (snapshot: NewSnapshot): Promise<{ draft: Promise<SnapshotDraft> }> => {
    // Written while it is loaded; a fault of the disk is told when it is to be kept.
    const draft = file.draft(snapshot, snapshot.tree.text, snapshot.blobs, snapshot.whole);
    draft.catch(() => undefined);
    try {
      await options.take(await load(snapshot), true);
    } catch (error) {
      await draft.then((written) => written.discard()).catch(() => undefined);
      throw error;
    }
    trees.remember(snapshot.checksum, snapshot.tree.leaves);
    return { draft };
  };

  return {
    remember: (checksum, leaves) => trees.remember(checksum, leaves),
    async take(news) {
      const began = performance.now();
      try {
        const snapshot = newIn(news);
        const registry = held();
        const served = snapshot === null ? null : await serve(snapshot);
        if (served === null && registry !== null) await options.take(registry, false);
        const load_ms = Math.round((performance.now() - began) * 100) / 100;
        log.info('snapshot_loaded', { version: news.version, load_ms, tools: held()?.tools.size ?? 0 });
        await options.keep(served && (() => served.draft));
        options.acknowledge({ load_ms });
        // Served, but not to be kept: its copy is made anew.
        const fault = await served?.draft.catch((error: unknown) => error);
        if (fault instanceof Lacking) options.askForAll();
      } catch (error) {
        if (error instanceof Lacking) {
          log.warning('snapshot_incomplete', { version: news.version, error: error.message });
          return options.askForAll();
        }
        log.error('snapshot_refused', { version: news.version, error: String(error) });
        options.acknowledge({ error: error instanceof AppError ? error.detail : 'The host could not load the snapshot.' });
      }
    },
  };
}
