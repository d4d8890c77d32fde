import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** A file below a folder, with the facts that reveal a change. */
export interface FoundFile {
  /** Path relative to the folder, with `/`. */
  readonly name: string;
  readonly bytes: number;
  readonly changed_at: number;
  readonly mark: string;
}

export type FileKind = 'csv' | 'parquet' | 'json' | 'sqlite';

const KINDS: readonly (readonly [RegExp, FileKind])[] = [
  [/\.(?:csv|tsv)(?:\.gz)?$/i, 'csv'],
  [/\.parquet$/i, 'parquet'],
  [/\.(?:json|jsonl|ndjson)(?:\.gz)?$/i, 'json'],
  [/\.(?:sqlite3?|db)$/i, 'sqlite'],
];

/** Null: files of this kind are not read. */
export const kindOfFile = (name: string): FileKind | null => KINDS.find(([pattern]) => pattern.test(name))?.[1] ?? null;

const MOST_FILES = 10_000;
const DEEPEST = 4;
const PACKED_PARQUET = /\.parquet\.gz$/i;

/** A file in the folder that is not read, and why. */
export interface LeftOut extends Pick<FoundFile, 'name' | 'bytes' | 'changed_at'> {
  readonly reason: string;
}

export interface FolderScan {
  /** Files that can be read as tables, sorted by name. */
  readonly files: readonly FoundFile[];
  /** The first of the files that are not read. */
  readonly left_out: readonly LeftOut[];
}

/** Lists the files of a folder. Links are not followed. */
export async function scanFolder(folder: string): Promise<FolderScan> {
  const found: Collected = { names: [], left_out: new Map() };
  await collect(folder, '', 1, found);
  const files = await Promise.all(found.names.map((name) => inspect(folder, name)));
  const left_out = await Promise.all([...found.left_out].map(([name, reason]) => lookAside(folder, name, reason)));
  return {
    files: files.filter((file) => file !== null).toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    left_out: left_out.filter((file) => file !== null),
  };
}

interface Collected {
  readonly names: string[];
  /** Reasons by file name. */
  readonly left_out: Map<string, string>;
  is_full?: true;
  is_too_deep?: true;
}

const PACKED = 'Parquet files compress themselves, so none is read with .gz. Unpack it.';
const FULL = `A folder can have ${MOST_FILES.toLocaleString('en')} files. This one and those after it are not read. Move them to another connection.`;
const TOO_DEEP = `Only folders up to ${DEEPEST} deep are read. Move the files of this one, and of others as deep, further up.`;

async function collect(folder: string, below: string, depth: number, found: Collected): Promise<void> {
  const { names, left_out } = found;
  for (const entry of await readdir(join(folder, below), { withFileTypes: true })) {
    if (found.is_full) return;
    if (entry.name.startsWith('.')) continue;
    const name = below === '' ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) {
      if (depth < DEEPEST) await collect(folder, name, depth + 1, found);
      else if (!found.is_too_deep && (await hasFiles(join(folder, name)))) {
        found.is_too_deep = true;
        left_out.set(name, TOO_DEEP);
      }
    }
    const is_packed = PACKED_PARQUET.test(name);
    if (!entry.isFile() || (kindOfFile(name) === null && !is_packed)) continue;
    if (names.length + left_out.size >= MOST_FILES) {
      found.is_full = true;
      left_out.set(name, FULL);
    } else if (is_packed) left_out.set(name, PACKED);
    else names.push(name);
  }
}

/** Whether the top level of a folder contains a readable file. */
const hasFiles = async (folder: string): Promise<boolean> =>
  (await readdir(folder, { withFileTypes: true })).some((entry) => entry.isFile() && kindOfFile(entry.name) !== null);

async function lookAside(folder: string, name: string, reason: string): Promise<LeftOut | null> {
  const found = await lstat(join(folder, name)).catch(() => null);
  return found && { name, bytes: found.isFile() ? found.size : 0, changed_at: found.mtimeMs, reason };
}

/** Null: the file was removed during the scan, or replaced by a link. */
async function inspect(folder: string, name: string): Promise<FoundFile | null> {
  const path = join(folder, name);
  const file = await lstat(path, { bigint: true }).catch(() => null);
  if (file === null || !file.isFile()) return null;
  const log = kindOfFile(name) === 'sqlite' ? await lstat(`${path}-wal`, { bigint: true }).catch(() => null) : null;
  const mark = [file, ...(log === null ? [] : [log])].map(({ ino, size, mtimeNs }) => `${ino}.${size}.${mtimeNs}`).join(' ');
  return { name, bytes: Number(file.size), changed_at: Number(file.mtimeMs), mark };
}
