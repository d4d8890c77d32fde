import type { SideSnapshot, SideSnapshotsEvent, CanaryEvent } from '#core/contract/deploy/control.ts';
import type { SavedCopies } from '#core/lib/saved-copies.ts';
import type { Log } from '#core/process/log.ts';
import { HOLDS_SECRETS, keyOf, type Leaf } from '#snapshots/format/tree.ts';
import { applyTo, Lacking, type NewSnapshot } from './apply-news.ts';
import type { BesideFiles } from './side-snapshot-files.ts';
import type { Control } from './control.ts';
import type { LoadRegistry } from '#mcp-host/registry/load-registry.ts';
import type { Registry } from '#mcp-host/registry/registry.ts';
import type { SnapshotFile } from './snapshot-file.ts';

/** A configuration that is loaded beside the live version. */
export interface LoadedSnapshot {
  readonly entry: SideSnapshot;
  readonly registry: Registry;
}

/**
 * Configurations beside the live one, on the same pools and queues: candidates, and versions that are fetched for single calls.
 * Each call uses one registry until it ends, like calls of the live version.
 */
export interface SideSnapshots {
  /** Loads the configurations on disk, once the live version is loaded. */
  load(): Promise<void>;
  /** Loads the configurations that the server lists, and acknowledges the list. */
  use(news: SideSnapshotsEvent): Promise<void>;
  /** The loaded configuration with an id. */
  find(id: string): LoadedSnapshot | null;
  /**
   * The registry of a candidate (its id) or of a stored version (`v12`). If it is not loaded, it is fetched for this caller alone
   * and freed after its last call. Rejects when the server does not have it.
   */
  borrow(name: string): Promise<Registry>;
}

export interface BesideOptions {
  readonly control: Pick<Control, 'fetchBeside'>;
  /** Copies of the loaded configurations. */
  readonly files: BesideFiles;
  /** The copy of the live version, which has most of the texts. */
  readonly file: Pick<SnapshotFile, 'texts'>;
  readonly live: () => Registry | null;
  readonly copies: Pick<SavedCopies, 'save'>;
  readonly log: Log;
  readonly loadRegistry: LoadRegistry;
  /** Serves these configurations beside the live one. */
  readonly serve: (held: ReadonlyMap<string, Registry>, canary: CanaryEvent | null) => void;
  readonly acknowledge: (answer: { request_id: string; error?: string }) => void;
  readonly retry_ms?: number;
}

const RETRY_MS = 5_000;
/** A starting host reads only from disk, because it does not wait for the server. */
type Source = 'disk' | 'server';

export function createSideSnapshots(options: BesideOptions): SideSnapshots {
  const { control, files, file, live, copies, log, loadRegistry, serve, acknowledge, retry_ms = RETRY_MS } = options;
  let held: ReadonlyMap<string, LoadedSnapshot> = new Map();
  let latest: SideSnapshotsEvent | null = null;
  let working: Promise<void> = Promise.resolve();
  /** Loaded configurations without a copy on disk. */
  const unsaved = new Map<string, NewSnapshot>();

  /** @param base the registry that a delta may start from; null: the server sends everything. */
  const fetched = async (name: string, base: Registry | null): Promise<NewSnapshot> => {
    const { delta, ...head } = await control.fetchBeside(name, base === null ? '' : haveOf(base));
    if (delta === undefined) throw new Lacking(`The server sent nothing of ${name}.`);
    // A server that no longer has the base sends everything.
    const leaves = delta.from === null ? [] : leavesOf(base);
    return applyTo(leaves, { ...head, delta });
  };
  const loadFetched = async (name: string, base: Registry | null): Promise<{ snapshot: NewSnapshot; registry: Registry }> => {
    const snapshot = await fetched(name, base);
    const { version, checksum, created_at, tree, blobs } = snapshot;
    const loadable = { version, checksum, created_at, leaves: tree.leaves, textOf: (hash: string) => blobs.get(hash) };
    return { snapshot, registry: await loadRegistry(loadable, base) };
  };
  const fromDisk = async ({ id, checksum }: SideSnapshot): Promise<Registry | null> => {
    const stored = await files.read(id).catch(() => null);
    if (stored?.checksum !== checksum) return null;
    const { texts, leaves, ...head } = stored;
    const base = live();
    const registry = { ...head, leaves: sharing(leaves, base), textOf: (hash: string) => texts.get(hash) };
    return loadRegistry(registry, base);
  };
  const keep = async (id: string, snapshot: NewSnapshot): Promise<void> => {
    const { leaves } = snapshot.tree;
    const missing = leaves.filter(({ hash }) => !snapshot.blobs.has(hash)).map(({ hash }) => hash);
    const texts = new Map([...(missing.length === 0 ? [] : await file.texts(missing)), ...snapshot.blobs]);
    if (leaves.every(({ hash }) => texts.has(hash))) return files.write(id, snapshot, texts);
    const whole = await fetched(id, null);
    await files.write(id, whole, whole.blobs);
  };
  const obtain = async (entry: SideSnapshot, source: Source): Promise<Registry> => {
    const stored = await fromDisk(entry);
    if (stored !== null) return stored;
    if (source === 'disk') throw new Lacking(`There is no copy of ${entry.id}.`);
    const { snapshot, registry } = await loadFetched(entry.id, live());
    if (registry.checksum !== entry.checksum) throw new Error(`The server sent another configuration as ${entry.id}.`);
    unsaved.set(entry.id, snapshot);
    return registry;
  };

  /** @returns the ids of configurations that could not be loaded. */
  const apply = async (news: SideSnapshotsEvent, source: Source): Promise<string[]> => {
    latest = news;
    const next = new Map<string, LoadedSnapshot>();
    const faults: string[] = [];
    for (const entry of news.snapshots) {
      const known = held.get(entry.id);
      try {
        const registry = known?.registry.checksum === entry.checksum ? known.registry : await obtain(entry, source);
        next.set(entry.id, { entry, registry });
      } catch (error) {
        log.warning('candidate_not_loaded', { id: entry.id, error: String(error) });
        faults.push(entry.id);
      }
    }
    held = next;
    serve(new Map([...held].map(([id, { registry }]) => [id, registry])), news.canary ?? null);
    return faults;
  };
  const take = async (news: SideSnapshotsEvent): Promise<void> => {
    const faults = await apply(news, 'server');
    const listed = new Set(news.snapshots.map(({ id }) => id));
    await copies.save('The list of candidates', async () => {
      for (const [id, snapshot] of unsaved) {
        if (listed.has(id)) await keep(id, snapshot);
        unsaved.delete(id);
      }
      await files.writeState(news);
      await files.keepOnly(listed);
    });
    const error = faults.length === 0 ? {} : { error: `The host could not load ${faults.join(', ')}. See its log.` };
    acknowledge({ request_id: `beside:${news.revision}`, ...error });
    if (faults.length > 0) setTimeout(() => void again(news), retry_ms).unref();
  };
  /** Lists are applied one after the other. */
  const use = (news: SideSnapshotsEvent): Promise<void> => {
    working = working.then(() => take(news));
    return working;
  };
  const again = async (news: SideSnapshotsEvent): Promise<void> => {
    if (latest === news) await use(news);
  };

  return {
    async load() {
      const news = await files.readState();
      if (news !== null && live() !== null) await apply(news, 'disk');
    },
    use,
    find: (id) => held.get(id) ?? null,
    async borrow(name) {
      return held.get(name)?.registry ?? (await loadFetched(name, live())).registry;
    },
  };
}

const haveOf = ({ snapshot_version, checksum }: Registry): string => `${snapshot_version}:${checksum}`;
const leavesOf = (registry: Registry | null): Leaf[] => [...(registry?.loaded.keys() ?? [])];

/** Replaces leaves of a copy by equal leaves of a registry, which are already loaded. */
function sharing(leaves: readonly Leaf[], registry: Registry | null): readonly Leaf[] {
  const known = new Map(leavesOf(registry).map((leaf) => [keyOf(leaf), leaf]));
  return leaves.map((leaf) => {
    const same = HOLDS_SECRETS.includes(leaf.kind) ? undefined : known.get(keyOf(leaf));
    return same?.hash === leaf.hash ? same : leaf;
  });
}
