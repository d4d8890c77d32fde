import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FolderSettings } from '#core/contract/definitions/file-settings.ts';
import { AppError, invalidField } from '#core/errors.ts';
import { untilAborted } from '#core/engines/shared/deadline.ts';
import { withTimeout } from '#core/lib/with-timeout.ts';
import { noteUse } from '#core/engines/shared/files/unused-folders.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { DialPolicy } from '#core/engines/shared/source.ts';
import { resolveDuckdb, type ServedFile } from '../path.ts';
import { createFileLock } from './lock.ts';
import {
  difference,
  type Difference,
  type Manifest,
  type ManifestEntry,
  manifestMark,
  nextManifest,
  readManifest,
  writeManifest,
} from './manifest.ts';
import { type BuiltTable, namesOf, planTables, type PlannedTable } from './plan.ts';
import { createProgress, type ReadProgress, readProgress, ignoreWriteErrors } from './progress.ts';
import { runBuild } from './run-build.ts';
import { type FoundFile, scanFolder } from './scan.ts';
import { folderSettings } from './settings.ts';
import { namesElsewhere, readNames, writeNames } from './table-names.ts';

/** Milliseconds for which a scan of a folder stays valid; a scan takes about 5 ms for 500 files. */
const FRESH_MS = 2_000;
/** Pause after a scan as a multiple of its duration. */
const SCAN_PAUSE_FACTOR = 20;
/** Milliseconds that a call waits for changed files, before it is served from the previous cache. */
const CHANGE_WAIT_MS = 3_000;
const BUILD_TIMEOUT = 3_600_000;
/** Milliseconds that a call waits for files that have never been read. */
const FIRST_WAIT_MS = 8_000;
const LOCK_POLL = 100;

/**
 * The tables of a folder, served from a cache that is rebuilt when the files change. The folder is only scanned while it is used.
 */
export function openFolder(settings: ConnectionSettings, policy: DialPolicy): ServedFile {
  const closing = new AbortController();
  const cache = openCache(settings, policy, closing.signal);
  let seen: Manifest | null = null;
  let checked_at = -Infinity;
  let interval = FRESH_MS;
  let checking: Promise<void> | null = null;
  /** Number of reported changes, and how many of them the last scan includes. */
  let changes = 0;
  let known_changes = 0;
  /** Mark of the cache when the last scan began. */
  let mark = '';

  const isFresh = () => performance.now() - checked_at < interval && known_changes === changes && cache.mark() === mark;

  async function check(): Promise<void> {
    if (isFresh()) return;
    const needed = changes;
    checking ??= scan().finally(() => (checking = null));
    await checking;
    // The scan may have passed the file before it changed.
    if (known_changes < needed) await check();
  }

  async function scan(): Promise<void> {
    const [reported, current_mark] = [changes, cache.mark()];
    const { manifest, took } = await cache.refresh();
    seen = manifest;
    [known_changes, mark] = [reported, current_mark];
    checked_at = performance.now();
    interval = Math.max(FRESH_MS, took * SCAN_PAUSE_FACTOR);
  }

  return {
    async refresh(signal) {
      // If the folder cannot be scanned now, the previous cache is still served.
      const work = check().catch(() => undefined);
      if (seen === null) return;
      const late = new Promise<void>((resolve) => setTimeout(resolve, CHANGE_WAIT_MS).unref());
      await untilAborted(signal, Promise.race([work, late]));
    },
    async current(signal) {
      if (seen === null)
        await untilAborted(
          signal,
          withTimeout(check(), FIRST_WAIT_MS, () => refuseUnread(cache.progress())),
        );
      const path = cache.pathOf(seen);
      return { path, isCurrent: () => cache.pathOf(seen) === path };
    },
    isBuilt: () => seen !== null,
    filesChanged: () => void (changes += 1),
    async close() {
      closing.abort(new AppError('unavailable', 'This connection is being closed; try again.'));
      await checking?.catch(() => undefined);
    },
  };
}

/** Throws this error instead of a timeout, which would blame the statement. */
export function refuseUnread(progress: ReadProgress | null = null): never {
  const sentence = 'The files of this folder are still being read for the first time';
  const far = progress === null ? '' : ` (${progress.done.toLocaleString('en')} of ${progress.of.toLocaleString('en')})`;
  throw new AppError('unavailable', `${sentence}${far}; try again in a moment.`, { retry_after: 5 });
}

/** Reads changed files and returns the entry of each file. @param patience aborts waiting for another process that reads them. */
export async function readFolder(
  settings: FolderConnection,
  policy: DialPolicy,
  patience?: AbortSignal,
): Promise<readonly ManifestEntry[]> {
  return (await openCache(settings, policy, AbortSignal.timeout(BUILD_TIMEOUT)).refresh(patience)).manifest.entries;
}

/** The entries of the previous cache, available while a new one is being built. */
export function lastRead(
  settings: FolderConnection,
  policy: DialPolicy,
): { readonly entries: readonly ManifestEntry[]; readonly progress: ReadProgress | null } {
  const cache_path = cachePathOf(resolveDuckdb(settings.database, policy).path, folderSettings(settings.extra_params), policy);
  return { entries: readManifest(cache_path)?.entries ?? [], progress: readProgress(cache_path) };
}

/** The settings of a connection that a folder depends on. */
export type FolderConnection = Pick<ConnectionSettings, 'database' | 'extra_params'>;

interface FolderCache {
  /** Reads changed files. @returns the current manifest, and the milliseconds that the scan took. */
  refresh(patience?: AbortSignal): Promise<{ readonly manifest: Manifest; readonly took: number }>;
  pathOf(manifest: Manifest | null): string;
  /** A text that changes whenever any process rebuilds the cache. */
  mark(): string;
  progress(): ReadProgress | null;
}

function openCache(settings: FolderConnection, policy: DialPolicy, stop: AbortSignal): FolderCache {
  const of = folderSettings(settings.extra_params);
  let cache_path: string | undefined;
  const file_lock = createFileLock();

  function planned(cache_path: string, folder: string, files: readonly FoundFile[]) {
    const manifest = readManifest(cache_path);
    const stored_names = readNames(cache_path);
    const known = stored_names ?? (manifest && namesOf(manifest.entries)) ?? namesElsewhere(cache_path, folder);
    const plan = planTables(files, of, known ?? undefined);
    // On a full disk the names are not stored. They are derived from the manifest until there is space.
    if (stored_names === null && manifest !== null) ignoreWriteErrors(() => writeNames(cache_path, folder, namesOf(plan)));
    return { plan, manifest };
  }

  async function refresh(patience?: AbortSignal): Promise<{ manifest: Manifest; took: number }> {
    const target = resolveDuckdb(settings.database, policy);
    if (target.kind !== 'folder')
      throw invalidField('database', 'A file must end in .duckdb; everything else is a folder of files.');
    const folder = target.path;
    cache_path = cachePathOf(folder, of, policy);
    noteUse(cache_path);
    for (;;) {
      stop.throwIfAborted();
      const began = performance.now();
      const { files } = await scanFolder(folder);
      const took = performance.now() - began;
      const { plan, manifest } = planned(cache_path, folder, files);
      const changes = difference(plan, manifest, (name) => join(folder, name));
      if (changes === null && manifest !== null) return { manifest, took };
      const lock = file_lock.take(join(cache_path, 'lock'));
      if (lock === null) {
        await sleep(Math.max(LOCK_POLL, took * SCAN_PAUSE_FACTOR));
        patience?.throwIfAborted();
        continue;
      }
      try {
        // Another process may have built it between the scan and the lock.
        const latest = planned(cache_path, folder, files);
        const remaining = difference(latest.plan, latest.manifest, (name) => join(folder, name));
        if (remaining === null && latest.manifest !== null) return { manifest: latest.manifest, took };
        // Stored before anything is read under these names.
        writeNames(cache_path, folder, namesOf(latest.plan));
        return {
          manifest: await build(cache_path, latest.plan, latest.manifest, remaining ?? { steps: [], planned: [] }, stop),
          took,
        };
      } finally {
        lock.release();
      }
    }
  }

  return {
    refresh,
    mark: () => (cache_path === undefined ? '' : manifestMark(cache_path)),
    progress: () => (cache_path === undefined ? null : readProgress(cache_path)),
    pathOf(manifest) {
      if (manifest === null || cache_path === undefined)
        throw new AppError('unavailable', 'The files of this folder were not read yet; try again.');
      return join(cache_path, manifest.cache);
    },
  };
}

/**
 * Each combination of folder and settings has a separate cache, because the deployed settings and the working copy may differ.
 */
function cachePathOf(folder: string, settings: FolderSettings, policy: DialPolicy): string {
  const key = createHash('sha256')
    .update(JSON.stringify([folder, settings]))
    .digest('hex')
    .slice(0, 32);
  const path = join(policy.cache_dir ?? join(policy.sqlite_dir, '.cache'), key);
  mkdirSync(path, { recursive: true, mode: 0o700 });
  return path;
}

/** Builds the next cache beside the served one, then replaces it with a rename. */
async function build(
  cache_path: string,
  plan: readonly PlannedTable[],
  before: Manifest | null,
  changes: Difference,
  stop: AbortSignal,
): Promise<Manifest> {
  const cache = `${randomUUID()}.duckdb`;
  const file = join(cache_path, cache);
  const broken: BuiltTable[] = [];
  try {
    const copy_of = before === null ? null : join(cache_path, before.cache);
    const built = await runBuild({ file, copy_of, changes, broken, stop, progress: createProgress(cache_path) });
    const manifest = nextManifest(cache, plan, before, changes, [...built, ...broken], Date.now());
    writeManifest(cache_path, manifest);
    clean(cache_path, [cache, before?.cache]);
    return manifest;
  } catch (error) {
    clean(cache_path, [before?.cache]);
    throw error;
  }
}

/** Processes that have an old cache open can still read it. */
function clean(cache_path: string, retained: readonly (string | undefined)[]): void {
  for (const name of readdirSync(cache_path)) {
    if (/\.duckdb(?:\.\w+)?$/.test(name) && !retained.some((each) => each !== undefined && name === each)) {
      rmSync(join(cache_path, name), { recursive: true, force: true });
    }
  }
}
