import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** A file below a folder, and what tells a change of it. */
export interface FoundFile {
  /** Below the folder, with `/`. */
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

/** Null: such a file is not read. */
export const kindOfFile = (name: string): FileKind | null => KINDS.find(([pattern]) => pattern.test(name))?.[1] ?? null;

export const MOST_FILES = 10_000;
const DEEPEST = 4;

/** The files of a folder that can be read as tables, in the order of their names; links are not followed. */
export async function scanFolder(folder: string): Promise<FoundFile[]> {
  const names: string[] = [];
  await collect(folder, '', 1, names);
  const found = await Promise.all(names.map((name) => look(folder, name)));
  return found.filter((file) => file !== null).toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

async function collect(folder: string, below: string, depth: number, names: string[]): Promise<void> {
  for (const entry of await readdir(join(folder, below), { withFileTypes: true })) {
    if (entry.name.startsWith('.') || names.length >= MOST_FILES) continue;
    const name = below === '' ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory() && depth < DEEPEST) await collect(folder, name, depth + 1, names);
    if (entry.isFile() && kindOfFile(name) !== null) names.push(name);
  }
}

/** Null: it went away meanwhile, or a link came into its place. */
async function look(folder: string, name: string): Promise<FoundFile | null> {
  const path = join(folder, name);
  const file = await lstat(path, { bigint: true }).catch(() => null);
  if (file === null || !file.isFile()) return null;
  const log = kindOfFile(name) === 'sqlite' ? await lstat(`${path}-wal`, { bigint: true }).catch(() => null) : null;
  const mark = [file, ...(log === null ? [] : [log])].map(({ ino, size, mtimeNs }) => `${ino}.${size}.${mtimeNs}`).join(' ');
  return { name, bytes: Number(file.size), changed_at: Number(file.mtimeMs), mark };
}
