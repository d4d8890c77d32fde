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
import { createProgress, type ReadProgress, readProgress, unlessRefused } from './progress.ts';
import { runBuild } from './run-build.ts';
import { type FoundFile, scanFolder } from './scan.ts';
import { folderSettings } from './settings.ts';
import { namesElsewhere, readNames, writeNames } from './table-names.ts';

/** Milliseconds for which what was seen of a folder is true; looking takes some 5 ms for 500 files. */
const FRESH = 2_000;
/** Looking at a folder may take this part of the time at most. */
const LOOKING_SHARE = 20;
/** Milliseconds that a call waits for files which changed, before it is served from what was there before. */
const CHANGE_WAIT = 3_000;
const BUILD_TIMEOUT = 3_600_000;
/** Milliseconds that a call waits for files which nobody has read yet. */
const FIRST_WAIT = 8_000;
const LOCK_POLL = 100;

/** The tables of a folder, in a cache that is made again when its files change. Looked at while it is used, never else. */
export function openFolder(settings: ConnectionSettings, policy: DialPolicy): ServedFile {
  const closing = new AbortController();
  const cache = openCache(settings, policy, closing.signal);
  let seen: Manifest | null = null;
  let checked_at = -Infinity;
  let interval = FRESH;
  let checking: Promise<void> | null = null;
  /** How often we were told of a change, and how many of these the last look has seen. */
  let changes = 0;
  let known_changes = 0;
  /** The cache that the last look found, when it began. */
  let mark = '';

  const isFresh = () => performance.now() - checked_at < interval && known_changes === changes && cache.mark() === mark;

  async function check(): Promise<void> {
    if (isFresh()) return;
    const needed = changes;
    checking ??= look().finally(() => (checking = null));
    await checking;
    // It may have passed the file before it changed.
    if (known_changes < needed) await check();
  }

  async function look(): Promise<void> {
    const [told, found] = [changes, cache.mark()];
    const { manifest, took } = await cache.refresh();
    seen = manifest;
    [known_changes, mark] = [told, found];
    checked_at = performance.now();
    interval = Math.max(FRESH, took * LOOKING_SHARE);
  }

  return {
    async refresh(signal) {
      // What is wrong with the folder now does not stop what was read from it before.
      const work = check().catch(() => undefined);
      if (seen === null) return;
      const late = new Promise<void>((resolve) => setTimeout(resolve, CHANGE_WAIT).unref());
      await untilAborted(signal, Promise.race([work, late]));
    },
    async current(signal) {
      if (seen === null)
        await untilAborted(
          signal,
          withTimeout(check(), FIRST_WAIT, () => refuseUnread(cache.progress())),
        );
      const path = cache.pathOf(seen);
      return { path, isCurrent: () => cache.pathOf(seen) === path };
    },
    isMade: () => seen !== null,
    filesChanged: () => void (changes += 1),
    async close() {
      closing.abort(new AppError('unavailable', 'This connection is being closed; try again.'));
      await checking?.catch(() => undefined);
    },
  };
}

/** Said in the place of a timeout, which would blame the statement. */
export function refuseUnread(progress: ReadProgress | null = null): never {
  const sentence = 'The files of this folder are still being read for the first time';
  const far = progress === null ? '' : ` (${progress.done.toLocaleString('en')} of ${progress.of.toLocaleString('en')})`;
  throw new AppError('unavailable', `${sentence}${far}; try again in a moment.`, { retry_after: 5 });
}

/** What became of each file of a folder; what changed is read first. @param patience ends waiting for others who read it. */
export async function readFolder(
  settings: FolderConnection,
  policy: DialPolicy,
  patience?: AbortSignal,
): Promise<readonly ManifestEntry[]> {
  return (await openCache(settings, policy, AbortSignal.timeout(BUILD_TIMEOUT)).refresh(patience)).manifest.entries;
}

/** What is known while it is being read. */
export function lastRead(
  settings: FolderConnection,
  policy: DialPolicy,
): { readonly entries: readonly ManifestEntry[]; readonly progress: ReadProgress | null } {
  const place = placeOf(resolveDuckdb(settings.database, policy).path, folderSettings(settings.extra_params), policy);
  return { entries: readManifest(place)?.entries ?? [], progress: readProgress(place) };
}

/** What a folder needs to know of its connection. */
export type FolderConnection = Pick<ConnectionSettings, 'database' | 'extra_params'>;

interface FolderCache {
  /** Reads what changed. @returns what is there now, and how long looking at the files took. */
  refresh(patience?: AbortSignal): Promise<{ readonly manifest: Manifest; readonly took: number }>;
  pathOf(manifest: Manifest | null): string;
  /** Another text once anybody has made the cache again. */
  mark(): string;
  progress(): ReadProgress | null;
}

function openCache(settings: FolderConnection, policy: DialPolicy, stop: AbortSignal): FolderCache {
  const of = folderSettings(settings.extra_params);
  let place: string | undefined;
  const file_lock = createFileLock();

  function planned(place: string, folder: string, files: readonly FoundFile[]) {
    const manifest = readManifest(place);
    const own = readNames(place);
    const known = own ?? (manifest && namesOf(manifest.entries)) ?? namesElsewhere(place, folder);
    const plan = planTables(files, of, known ?? undefined);
    // An earlier version kept none. On a full disk they follow from what was read until there is room.
    if (own === null && manifest !== null) unlessRefused(() => writeNames(place, folder, namesOf(plan)));
    return { plan, manifest };
  }

  async function refresh(patience?: AbortSignal): Promise<{ manifest: Manifest; took: number }> {
    const target = resolveDuckdb(settings.database, policy);
    if (target.kind !== 'folder')
      throw invalidField('database', 'A file must end in .duckdb; everything else is a folder of files.');
    const folder = target.path;
    place = placeOf(folder, of, policy);
    noteUse(place);
    for (;;) {
      stop.throwIfAborted();
      const began = performance.now();
      const { files } = await scanFolder(folder);
      const took = performance.now() - began;
      const { plan, manifest } = planned(place, folder, files);
      const changes = difference(plan, manifest, (name) => join(folder, name));
      if (changes === null && manifest !== null) return { manifest, took };
      const lock = file_lock.take(join(place, 'lock'));
      if (lock === null) {
        await sleep(Math.max(LOCK_POLL, took * LOOKING_SHARE));
        patience?.throwIfAborted();
        continue;
      }
      try {
        // Another process may have done it between our look and our lock.
        const latest = planned(place, folder, files);
        const left = difference(latest.plan, latest.manifest, (name) => join(folder, name));
        if (left === null && latest.manifest !== null) return { manifest: latest.manifest, took };
        // Before anything is read under them.
        writeNames(place, folder, namesOf(latest.plan));
        return { manifest: await build(place, latest.plan, latest.manifest, left ?? { steps: [], planned: [] }, stop), took };
      } finally {
        lock.release();
      }
    }
  }

  return {
    refresh,
    mark: () => (place === undefined ? '' : manifestMark(place)),
    progress: () => (place === undefined ? null : readProgress(place)),
    pathOf(manifest) {
      if (manifest === null || place === undefined)
        throw new AppError('unavailable', 'The files of this folder were not read yet; try again.');
      return join(place, manifest.cache);
    },
  };
}

/** One cache for each folder and each way to read it: what is deployed and what is being edited may differ. */
function placeOf(folder: string, settings: FolderSettings, policy: DialPolicy): string {
  const key = createHash('sha256')
    .update(JSON.stringify([folder, settings]))
    .digest('hex')
    .slice(0, 32);
  const path = join(policy.cache_dir ?? join(policy.sqlite_dir, '.cache'), key);
  mkdirSync(path, { recursive: true, mode: 0o700 });
  return path;
}

/** Makes the next cache beside the one that is served, and puts it in its place by a rename. */
async function build(
  place: string,
  plan: readonly PlannedTable[],
  before: Manifest | null,
  changes: Difference,
  stop: AbortSignal,
): Promise<Manifest> {
  const cache = `${randomUUID()}.duckdb`;
  const file = join(place, cache);
  const broken: BuiltTable[] = [];
  try {
    const copy_of = before === null ? null : join(place, before.cache);
    const built = await runBuild({ file, copy_of, changes, broken, stop, progress: createProgress(place) });
    const manifest = nextManifest(cache, plan, before, changes, [...built, ...broken], Date.now());
    writeManifest(place, manifest);
    clean(place, [cache, before?.cache]);
    return manifest;
  } catch (error) {
    clean(place, [before?.cache]);
    throw error;
  }
}

/** Who has an old cache open reads on in it. */
function clean(place: string, kept: readonly (string | undefined)[]): void {
  for (const name of readdirSync(place)) {
    if (/\.duckdb(?:\.\w+)?$/.test(name) && !kept.some((each) => each !== undefined && name === each)) {
      rmSync(join(place, name), { recursive: true, force: true });
    }
  }
}
