import { readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/**
 * The tables that the files of a folder have, by their keys, and the schemas of folders and SQLite files. Whatever comes, goes or is set
 * otherwise, a table stays with its file: a statement would read another one without anybody knowing.
 */
export type TableNames = ReadonlyMap<string, string>;

/** What wants a name. */
export interface Wish {
  readonly key: string;
  readonly wanted: string;
  /** Somebody entered it. */
  readonly is_entered: boolean;
  /** Names differ in it. */
  readonly scope: string;
}

/** Names by keys: those that are known hold, and of the others whoever is first has what it wants. */
export function giveNames(wishes: readonly Wish[], known: TableNames): Map<string, string> {
  const taken = new Set<string>();
  const given = new Map<string, string>();
  const give = ({ key, scope }: Wish, wanted: string) => {
    let name = wanted;
    // Names differ by more than their case.
    for (let n = 2; taken.has(`${scope} ${name.toLowerCase()}`); n++) name = `${wanted}_${n}`;
    taken.add(`${scope} ${name.toLowerCase()}`);
    given.set(key, name);
  };
  for (const wish of wishes) {
    const name = known.get(wish.key);
    if (name !== undefined && holds(wish, name)) give(wish, name);
  }
  for (const wish of wishes) if (!given.has(wish.key)) give(wish, wish.wanted);
  return given;
}

/** What was entered once, and is not now, is not what the file is called. */
const holds = ({ wanted, is_entered }: Wish, name: string): boolean =>
  name === wanted || (!is_entered && name.startsWith(`${wanted}_`) && /^\d+$/.test(name.slice(wanted.length + 1)));

interface Stored {
  readonly folder: string;
  readonly names: readonly (readonly [string, string])[];
}

const ENDING = '.names.json';
/** Beside what was read of the folder, which is removed when nobody uses it for long. */
const fileOf = (place: string): string => `${place}${ENDING}`;

/** @param place where what is read of the folder is kept, under one way to read it. */
export function readNames(place: string): TableNames | null {
  const stored = read(fileOf(place));
  return stored === null ? null : new Map(stored.names);
}

/** Those of the same folder when it was last read in another way. */
export function namesElsewhere(place: string, folder: string): TableNames | null {
  const root = dirname(place);
  const found = readdirSync(root)
    .filter((name) => name.endsWith(ENDING) && name !== basename(fileOf(place)))
    .map((name) => ({ name, at: statSync(join(root, name), { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
    .toSorted((a, b) => b.at - a.at);
  for (const { name } of found) {
    const stored = read(join(root, name));
    if (stored?.folder === folder) return new Map(stored.names);
  }
  return null;
}

export function writeNames(place: string, folder: string, names: TableNames): void {
  const path = fileOf(place);
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
