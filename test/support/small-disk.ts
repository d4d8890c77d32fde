import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A file system of its own, which a test can fill. */
export interface SmallDisk {
  readonly folder: string;
  /** Takes all the room that is left. */
  fill(this: void): void;
  /** Gives the room back. */
  empty(this: void): void;
  remove(this: void): void;
}

/** @returns null where this user may not mount one. */
export function smallDisk(megabytes: number): SmallDisk | null {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-disk-'));
  const filler = join(folder, 'filler');
  const { exitCode } = Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder]);
  const removeFolder = () => rmSync(folder, { recursive: true, force: true });
  if (exitCode !== 0) {
    removeFolder();
    return null;
  }
  return {
    folder,
    fill() {
      for (let size = megabytes * 1_500_000; size >= 1; size = Math.floor(size / 2)) {
        try {
          writeFileSync(filler, Buffer.alloc(size), { flag: 'a' });
        } catch {
          // No room for so much: try half.
        }
      }
    },
    empty: () => rmSync(filler, { force: true }),
    remove() {
      Bun.spawnSync(['umount', '-l', folder]);
      removeFolder();
    },
  };
}
