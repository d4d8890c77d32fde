import { readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/**
 * The names of the tables of a folder by file key, and those of the schemas of subfolders and SQLite files. A table always
 * belongs to the same file, whatever is added, removed or configured; otherwise a statement could silently read another file.
 */
export type TableNames = ReadonlyMap<string, string>;

/** A table or schema that needs a name. */
export interface NameRequest {
  readonly key: string;
  readonly preferred: string;
  /** True when a person entered the name. */
  readonly is_entered: boolean;
  /** Names are unique within it. */
  readonly scope: string;
}

/** Assigns names by key. Known names stay; the others get their preferred name in order, with a number when it is taken. */
export function assignNames(requests: readonly NameRequest[], known: TableNames): Map<string, string> {
  const taken = new Set<string>();
  const given = new Map<string, string>();
  const assign = ({ key, scope }: NameRequest, preferred: string) => {
    let name = preferred;
    // Names are case-insensitive.
    for (let n = 2; taken.has(`${scope} ${name.toLowerCase()}`); n++) name = `${preferred}_${n}`;
    taken.add(`${scope} ${name.toLowerCase()}`);
    given.set(key, name);
  };
  for (const request of requests) {
    const name = known.get(request.key);
    if (name !== undefined && holds(request, name)) assign(request, name);
  }
  for (const request of requests) if (!given.has(request.key)) assign(request, request.preferred);
  return given;
}

/** Whether a known name is still valid. A name that was entered before, and no longer is, does not match. */
const holds = ({ preferred, is_entered }: NameRequest, name: string): boolean =>
  name === preferred || (!is_entered && name.startsWith(`${preferred}_`) && /^\d+$/.test(name.slice(preferred.length + 1)));

interface Stored {
  readonly folder: string;
  readonly names: readonly (readonly [string, string])[];
}

const ENDING = '.names.json';
/** Stored beside the cache folder, which is removed when it is not used for long. */
const fileOf = (cache_path: string): string => `${cache_path}${ENDING}`;

/** @param cache_path folder of the cache for one combination of folder and settings. */
export function readNames(cache_path: string): TableNames | null {
  const stored = read(fileOf(cache_path));
  return stored === null ? null : new Map(stored.names);
}

/** The names of the same folder from its most recent cache with other settings. */
export function namesElsewhere(cache_path: string, folder: string): TableNames | null {
  const root = dirname(cache_path);
  const found = readdirSync(root)
    .filter((name) => name.endsWith(ENDING) && name !== basename(fileOf(cache_path)))
    .map((name) => ({ name, at: statSync(join(root, name), { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
    .toSorted((a, b) => b.at - a.at);
  for (const { name } of found) {
    const stored = read(join(root, name));
    if (stored?.folder === folder) return new Map(stored.names);
  }
  return null;
}

export function writeNames(cache_path: string, folder: string, names: TableNames): void {
  const path = fileOf(cache_path);
  const stored: Stored = { folder, names: [...names] };
  writeFileSync(`${path}.new`, JSON.stringify(stored), { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

function read(path: string): Stored | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Stored;
  } catch {
    return null;
  }
}
