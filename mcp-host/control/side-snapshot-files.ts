import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { SideSnapshotsEvent } from '#core/contract/deploy/control.ts';
import { sweepBeside, writeFileAtomic } from '#core/lib/durable-file.ts';
import { type KeptSnapshot, snapshotFile } from './snapshot-file.ts';
import type { NewSnapshot } from './apply-news.ts';

/**
 * Copies of the snapshots beside the live version, in a folder: `state.json` with the last list, and a file for each snapshot.
 */
export interface BesideFiles {
  /** The last list; null when there is no readable one. */
  readState(): Promise<SideSnapshotsEvent | null>;
  writeState(news: SideSnapshotsEvent): Promise<void>;
  /** The copy, if it is intact; null when there is none. */
  read(id: string): Promise<KeptSnapshot | null>;
  /** @param texts the texts of all leaves, by hash. */
  write(id: string, snapshot: NewSnapshot, texts: ReadonlyMap<string, string>): Promise<void>;
  /** Removes all other copies. */
  keepOnly(ids: ReadonlySet<string>): Promise<void>;
}

const STATE = 'state.json';

export function sideSnapshotFiles(folder: string): BesideFiles {
  const path = (id: string) => join(folder, `${id}.json`);
  return {
    async readState() {
      await sweepBeside(join(folder, STATE));
      const text = await readFile(join(folder, STATE), 'utf8').catch(() => null);
      if (text === null) return null;
      try {
        return JSON.parse(text) as SideSnapshotsEvent;
      } catch {
        return null;
      }
    },
    async writeState(news) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await writeFileAtomic(join(folder, STATE), JSON.stringify(news));
    },
    read: async (id) => (await snapshotFile(path(id)).read()).snapshot,
    async write(id, { version, checksum, created_at, tree }, texts) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const draft = await snapshotFile(path(id)).draft({ version, checksum, created_at }, tree.text, texts, true);
      await draft.keep();
    },
    async keepOnly(ids) {
      const names = await readdir(folder).catch(() => []);
      const gone = names.filter((name) => !name.startsWith(STATE) && !ids.has(name.split('.')[0] ?? ''));
      await Promise.all(gone.map((name) => rm(join(folder, name), { force: true })));
    },
  };
}

/** For hosts that store nothing. */
export const NO_FILES: BesideFiles = {
  readState: async () => null,
  writeState: async () => undefined,
  read: async () => null,
  write: async () => undefined,
  keepOnly: async () => undefined,
};
