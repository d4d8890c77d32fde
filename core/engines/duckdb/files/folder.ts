import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FolderSettings } from '#core/contract/definitions/file-settings.ts';
import { AppError, invalidField } from '#core/errors.ts';
import { untilAborted } from '#core/engines/shared/deadline.ts';
import { withTimeout } from '#core/lib/with-timeout.ts';
import { noteUse } from '#core/engines/shared/files/unused-folders.ts';
import type { ConnectionSettings, DialPolicy } from '#core/engines/shared/source.ts';
import { resolveDuckdb, type ServedFile } from '../path.ts';
import type { DuckdbAnswer } from '../messages.ts';
import { notInstalled, startDuckdbChild } from '../process.ts';
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
import { type BuildStep, type BuiltTable, planTables, type PlannedTable } from './plan.ts';
import { scanFolder } from './scan.ts';
import { folderSettings } from './settings.ts';

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
const SLOWEST = { ms: 20_000, bytes_per_second: 2_000_000 };
/** Bytes of the cache for each byte that is read, and at least: an archive of a few megabytes can hold terabytes. */
const CACHE_SHARE = 30;
const CACHE_LEAST = 1024 ** 3;
/** What `ulimit` counts the bytes of a file in. */
const BLOCK = 512;
/** Bytes that the program may have in memory. What it has reserved is many times that, so a limit of the system does not fit. */
const BUILD_MEMORY = 1_500 * 1024 * 1024;
const PAGE = 4_096;
/** How often a program that ended in the middle of a file is started again without it. */
const MOST_BROKEN = 20;

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
      if (seen === null) await untilAborted(signal, withTimeout(check(), FIRST_WAIT, refuseUnread));
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
export function refuseUnread(): never {
  throw new AppError('unavailable', 'The files of this folder are still being read for the first time; try again in a moment.', {
    retry_after: 5,
  });
}

/** What became of each file of a folder; what changed is read first. @param patience ends waiting for others who read it. */
export async function readFolder(
  settings: FolderConnection,
  policy: DialPolicy,
  patience?: AbortSignal,
): Promise<readonly ManifestEntry[]> {
  return (await openCache(settings, policy, AbortSignal.timeout(BUILD_TIMEOUT)).refresh(patience)).manifest.entries;
}

/** The same without reading anything. */
export function lastRead(settings: FolderConnection, policy: DialPolicy): readonly ManifestEntry[] {
  return (
    readManifest(placeOf(resolveDuckdb(settings.database, policy).path, folderSettings(settings.extra_params), policy))
      ?.entries ?? []
  );
}

/** What a folder needs to know of its connection. */
export type FolderConnection = Pick<ConnectionSettings, 'database' | 'extra_params'>;

interface FolderCache {
  /** Reads what changed. @returns what is there now, and how long looking at the files took. */
  refresh(patience?: AbortSignal): Promise<{ readonly manifest: Manifest; readonly took: number }>;
  pathOf(manifest: Manifest | null): string;
  /** Another text once anybody has made the cache again. */
  mark(): string;
}

function openCache(settings: FolderConnection, policy: DialPolicy, stop: AbortSignal): FolderCache {
  const of = folderSettings(settings.extra_params);
  let place: string | undefined;
  const file_lock = createFileLock();

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
      const plan = planTables((await scanFolder(folder)).files, of);
      const took = performance.now() - began;
      const manifest = readManifest(place);
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
        const latest = readManifest(place);
        const left = difference(plan, latest, (name) => join(folder, name));
        if (left === null && latest !== null) return { manifest: latest, took };
        return { manifest: await build(place, plan, latest, left ?? { steps: [], planned: [] }, stop), took };
      } finally {
        lock.release();
      }
    }
  }

  return {
    refresh,
    mark: () => (place === undefined ? '' : manifestMark(place)),
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
    const built = await runBuild(file, before === null ? null : join(place, before.cache), changes, broken, stop);
    const manifest = nextManifest(cache, plan, before, changes, [...built, ...broken], Date.now());
    writeManifest(place, manifest);
    clean(place, [cache, before?.cache]);
    return manifest;
  } catch (error) {
    clean(place, [before?.cache]);
    throw error;
  }
}

/** A file that ends the program is left out of the next try. */
async function runBuild(
  file: string,
  copy_of: string | null,
  changes: Difference,
  broken: BuiltTable[],
  stop: AbortSignal,
): Promise<readonly BuiltTable[]> {
  for (;;) {
    const left = changes.steps.flatMap((step, n) => (broken.some((each) => each.step === n) ? [] : [{ step, n }]));
    let reading = -1;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const child = startDuckdbChild(`ulimit -f ${Math.ceil(cacheLimit(copy_of, left) / BLOCK)}`);
    const watch = setInterval(() => memoryOf(child.pid) > BUILD_MEMORY && void child.kill(), 200);
    const begin = (message: DuckdbAnswer): boolean => {
      if (message.answer !== 'reading') return false;
      reading = left[message.step]?.n ?? -1;
      clearTimeout(timer);
      timer = setTimeout(() => void child.kill(), timeFor(left[message.step]?.step));
      return true;
    };
    try {
      const question = { ask: 'build', file, copy_of, steps: left.map(({ step }) => step) } as const;
      const answer = await child.ask(question, stop, begin);
      if (answer.answer === 'missing') throw notInstalled(answer.message);
      if (answer.answer === 'built') return answer.tables.map((each) => ({ ...each, step: left[each.step]?.n ?? -1 }));
      const cause = answer.answer === 'fault' ? answer.fault.message : answer.answer;
      throw new AppError(
        'database_unreachable',
        'The files of this folder could not be read; check the space on the disk and the log.',
        {
          reason: 'failed',
          cause,
        },
      );
    } catch (error) {
      const ended = !stop.aborted && !child.usable && reading >= 0 && broken.length < MOST_BROKEN;
      if (!ended) throw error;
      const message = 'Reading the file needed more memory, disk or time than importing may use.';
      broken.push({ step: reading, tables: [], rejected: [], rejected_rows: 0, notes: [], error: { message, line: null } });
    } finally {
      clearTimeout(timer);
      clearInterval(watch);
      await child.kill();
    }
  }
}

/** Bytes that the cache may have, which begins as a copy of the one before. */
function cacheLimit(copy_of: string | null, steps: readonly { readonly step: BuildStep }[]): number {
  const before = copy_of === null ? 0 : bytesOf([copy_of]);
  const read = steps.reduce((sum, { step }) => sum + (step.step === 'read' ? bytesOf(step.paths) : 0), 0);
  return before + Math.max(CACHE_LEAST, read * CACHE_SHARE);
}

const bytesOf = (paths: readonly string[]): number =>
  paths.reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0);

/** Bytes, on Linux. */
function memoryOf(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * PAGE;
  } catch {
    return 0;
  }
}

/** Milliseconds for one file, or the files of one pattern: a small one that takes long holds much more than it seems to. */
function timeFor(step: BuildStep | undefined): number {
  if (step?.step !== 'read') return SLOWEST.ms;
  return SLOWEST.ms + (bytesOf(step.paths) / SLOWEST.bytes_per_second) * 1_000;
}

/** Who has an old cache open reads on in it. */
function clean(place: string, kept: readonly (string | undefined)[]): void {
  for (const name of readdirSync(place)) {
    if (/\.duckdb(?:\.\w+)?$/.test(name) && !kept.some((each) => each !== undefined && name === each)) {
      rmSync(join(place, name), { recursive: true, force: true });
    }
  }
}
