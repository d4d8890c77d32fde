import { createHash } from 'node:crypto';
import { open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { SNAPSHOT_FORMAT, type Snapshot } from './format.ts';

/**
 * A host's copy of its snapshot: a first line with the SHA-256 of the rest, then JSON. The file before it is kept as
 * `<path>.previous`; the empty file `<path>.stopped` says that the server was stopped.
 */
export interface SnapshotFile {
  /** The newest copy that is whole; `fault` says in a sentence why a newer one was passed over. */
  read(): Promise<{ snapshot: Snapshot | null; stopped: boolean; fault: string | null }>;
  /**
   * Writes a draft beside the copy that is there.
   * @param text a `Snapshot` as JSON, without white space at its end.
   */
  draft(text: string): Promise<Draft>;
  setStopped(stopped: boolean): Promise<void>;
}

export interface Draft {
  /** Takes the place of the copy. Atomic: a crash leaves the old copy or the new one, never half of one. */
  keep(): Promise<void>;
  discard(): Promise<void>;
}

export function snapshotFile(path: string): SnapshotFile {
  /** The file at `path` was written or found whole by this process. */
  let whole = false;
  return {
    async read() {
      await sweepDrafts(path);
      const stopped = await exists(`${path}.stopped`);
      const faults: string[] = [];
      for (const candidate of [path, `${path}.previous`]) {
        const found = await readOne(candidate);
        if (candidate === path) whole = typeof found === 'object' && found !== null;
        if (typeof found === 'string') faults.push(found);
        else if (found !== null) return { snapshot: found, stopped, fault: faults.join(' ') || null };
      }
      return { snapshot: null, stopped, fault: faults.join(' ') || null };
    },
    async draft(text) {
      const fresh = `${path}.${process.pid}.new`;
      const discard = () => rm(fresh, { force: true });
      const orDiscard = async (error: unknown): Promise<never> => {
        await discard().catch(() => undefined);
        throw error;
      };
      await writeWhole(fresh, `${digest(text)}\n${text}\n`).catch(orDiscard);
      return {
        async keep() {
          if (whole || typeof (await readOne(path)) === 'object') await rename(path, `${path}.previous`).catch(ignoreMissing);
          await rename(fresh, path).catch(orDiscard);
          await syncFolder(path);
          whole = true;
        },
        discard,
      };
    },
    async setStopped(stopped) {
      if (stopped) await writeWhole(`${path}.stopped`, '');
      else await rm(`${path}.stopped`, { force: true });
      await syncFolder(path);
    },
  };
}

/** Of hosts that were killed while they wrote them; a living one is done within this time. */
const DRAFT_MS = 3_600_000;
async function sweepDrafts(path: string): Promise<void> {
  const folder = dirname(path);
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((one) => one.startsWith(`${basename(path)}.`) && one.endsWith('.new'))) {
    const draft = join(folder, name);
    const written = await stat(draft).catch(() => null);
    if (written !== null && written.mtimeMs < Date.now() - DRAFT_MS) await rm(draft, { force: true }).catch(() => undefined);
  }
}

/** The snapshot, null when there is no file, or a sentence when the file is damaged. */
async function readOne(path: string): Promise<Snapshot | null | string> {
  const text = await readFile(path, 'utf8').catch(ignoreMissing);
  if (text === undefined) return null;
  const end = text.indexOf('\n');
  const body = text.slice(end + 1).trimEnd();
  if (end < 0 || text.slice(0, end) !== digest(body)) return `${path} is damaged: its checksum does not fit.`;
  const snapshot = JSON.parse(body) as Snapshot;
  if (snapshot.content?.format !== SNAPSHOT_FORMAT) return `${path} has a format that this version does not read.`;
  return snapshot;
}

const digest = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;
const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

async function writeWhole(path: string, text: string): Promise<void> {
  const file = await open(path, 'w', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes the renames of this folder durable. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
