import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '#core/errors.ts';
import { checkHidden, writeInside } from './folder.ts';
import { type Configuration, hashOfRecord, hashOfValues, settingId } from './records.ts';

/** Hashes of what a server had at the last pull or push. They show on which side a record changed. */
export type Base = ReadonlyMap<string, string>;

/** What a push knows about the records of a server, to notice changes of others. */
export interface Known {
  /** From the last pull or push of this checkout. In a fresh checkout: from the last push to the server. */
  readonly base: Base;
  readonly is_fresh: boolean;
  /** Whether the folder has seen this state of a record: it is the base, or a pull brought it into the repository. */
  readonly hasSeen: (id: string, hash: string) => boolean;
}

const FOLDER = '.sluice';
const FILE = `${FOLDER}/state.json`;
/** What the last pull from each server brought. It is committed with the files of that pull. */
const PULLED = `${FOLDER}/pulled.json`;

interface State {
  readonly format: 1;
  /** By URL, because a folder may be used with several installations. */
  readonly servers: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

async function readState(root: string, file: string): Promise<State> {
  await checkHidden(root, FOLDER, file.slice(FOLDER.length + 1));
  const text = await readFile(join(root, file), 'utf8').catch(() => null);
  if (text === null) return { format: 1, servers: {} };
  try {
    const state = JSON.parse(text) as State;
    if (state.format === 1 && typeof state.servers === 'object') return state;
  } catch {
    // An unreadable file is reported below.
  }
  throw new AppError('invalid', `${file} cannot be read. Delete it: the next pull writes it again.`);
}

/** Null: no pull or push between this folder and the server yet. */
export async function readBase(root: string, url: string): Promise<Base | null> {
  const { servers } = await readState(root, FILE);
  return Object.hasOwn(servers, url) ? new Map(Object.entries(servers[url] ?? {})) : null;
}

export async function writeBase(root: string, url: string, server: Configuration): Promise<void> {
  const { servers } = await readState(root, FILE);
  const hashes = Object.fromEntries(hashesOf(server));
  const state: State = { format: 1, servers: { ...servers, [url]: hashes } };
  await writeInside(root, FILE, `${JSON.stringify(state)}\n`);
  // The file concerns only this copy of the folder, so it is not committed.
  await writeInside(root, `${FOLDER}/.gitignore`, 'state.json\n');
}

/** Writes what a pull brought, one line per record, so that git merges it. */
export async function writePulled(root: string, url: string, server: Configuration): Promise<void> {
  const { servers } = await readState(root, PULLED);
  const hashes = Object.fromEntries(hashesOf(server).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  const state: State = { format: 1, servers: { ...servers, [url]: hashes } };
  await writeInside(root, PULLED, `${JSON.stringify(state, null, 1)}\n`);
}

/** @param readPushed reads what the last push left from the server. @returns null when nothing is known. */
export async function readKnown(
  root: string,
  url: string,
  readPushed: () => Promise<Readonly<Record<string, string>>>,
): Promise<Known | null> {
  const local = await readBase(root, url);
  if (local !== null) return { base: local, is_fresh: false, hasSeen: (id, hash) => local.get(id) === hash };
  const base = new Map(Object.entries(await readPushed()));
  if (base.size === 0) return null;
  const pulled = Object.values((await readState(root, PULLED)).servers);
  const hasSeen = (id: string, hash: string) =>
    base.get(id) === hash || pulled.some((hashes) => Object.hasOwn(hashes, id) && hashes[id] === hash);
  return { base, is_fresh: true, hasSeen };
}

/** The hash of every record and setting. */
const hashesOf = ({ records, settings }: Configuration): [string, string][] => [
  ...[...records.values()].map((record): [string, string] => [record.id, hashOfRecord(record)]),
  ...Object.entries(settings).map(([name, value]): [string, string] => [settingId(name), hashOfValues(value)]),
];
