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
  /** Whether the loaded snapshot is replaced even by the same one, if the server sends all of it. */
  readonly isStale: () => boolean;
  /** Serves a registry; rejects when its address cannot be opened. @param fresh whether the server has just sent it. */
  readonly take: (registry: Registry, fresh: boolean) => Promise<void>;
  /** Saves what is served on disk. @param write writes a new snapshot, also when it is called again; null: there is none. */
  readonly save: (write: (() => Promise<void>) | null) => Promise<void>;
  readonly acknowledge: (answer: { error?: string; load_ms?: number }) => void;
  /** Requests the whole snapshot from the server. */
  readonly askForAll: () => void;
}

export interface SnapshotTaker {
  take(news: SnapshotEvent): Promise<void>;
  /** Remembers a tree that a delta may start from. */
  remember(checksum: string, leaves: readonly Leaf[]): void;
}

/** Takes the snapshots that the server sends: assembles, loads, serves, stores and acknowledges them. */
export function createSnapshotTaker(options: SnapshotTakerOptions): SnapshotTaker {
  const { file, log, held, loadRegistry } = options;
  const trees = createKnownTrees();

  /** The new snapshot; null when the host has already loaded it. */
  const newIn = ({ delta, ...head }: SnapshotEvent): NewSnapshot | null => {
    const registry = held();
    const same = registry?.snapshot_version === head.version && registry.checksum === head.checksum;
    if (registry !== null && same && !(options.isStale() && delta?.from === null)) return null;
    if (delta === undefined) throw new Lacking(`The host does not have snapshot ${head.version}.`);
    return trees.apply({ ...head, delta });
  };

  /** Loads a registry from received texts, the running registry and the disk: a delta may start from an older snapshot. */
  const load = async ({ version, checksum, created_at, tree: { leaves }, blobs }: NewSnapshot): Promise<Registry> => {
    const before = held();
    const isKnown = (leaf: Leaf) => before?.loaded.has(leaf) === true || blobs.has(leaf.hash);
    const missing = leaves.filter((leaf) => !isKnown(leaf)).map(({ hash }) => hash);
    const stored = missing.length === 0 ? new Map<string, string>() : await file.texts(missing);
    if (missing.some((hash) => !stored.has(hash))) throw new Lacking(`The host lacks parts of snapshot ${version}.`);
    const textOf = (hash: string) => blobs.get(hash) ?? stored.get(hash);
    return loadRegistry({ version, checksum, created_at, leaves, textOf }, before);
  };

  /** @returns a function that saves the snapshot's copy, whose draft is still being written. */
  const serve = async (snapshot: NewSnapshot): Promise<() => Promise<void>> => {
    // Written while the snapshot is loaded; a disk fault is reported when the draft is saved.
    const write = () => file.draft(snapshot, snapshot.tree.text, snapshot.blobs, snapshot.whole);
    const draft = write();
    draft.catch(() => undefined);
    try {
      await options.take(await load(snapshot), true);
    } catch (error) {
      await draft.then((written) => written.discard()).catch(() => undefined);
      throw error;
    }
    trees.remember(snapshot.checksum, snapshot.tree.leaves);
    let first: Promise<SnapshotDraft> | null = draft;
    return async () => {
      const next = first ?? write();
      first = null;
      try {
        await (await next).keep();
      } catch (error) {
        if (!(error instanceof Lacking)) throw error;
        // The copy could not be written without the texts that it lacks.
        options.askForAll();
      }
    };
  };

  return {
    remember: (checksum, leaves) => trees.remember(checksum, leaves),
    async take(news) {
      const began = performance.now();
      try {
        const snapshot = newIn(news);
        const registry = held();
        const save = snapshot === null ? null : await serve(snapshot);
        if (save === null && registry !== null) await options.take(registry, false);
        const load_ms = Math.round((performance.now() - began) * 100) / 100;
        log.info('snapshot_loaded', { version: news.version, load_ms, tools: held()?.tools.size ?? 0 });
        await options.save(save);
        options.acknowledge({ load_ms });
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
