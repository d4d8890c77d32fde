import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '#core/errors.ts';
import { checkHidden, writeInside } from './folder.ts';
import { type Configuration, hashOfRecord, hashOfValues, settingId } from './records.ts';

/** What a server had when a folder last met it: whose change a difference is follows from here. */
export type Base = ReadonlyMap<string, string>;

const FOLDER = '.sluice';
const FILE = `${FOLDER}/state.json`;

interface State {
  readonly format: 1;
  /** By address: one folder may serve several installations. */
  readonly servers: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

async function readState(root: string): Promise<State> {
  await checkHidden(root, FOLDER, 'state.json');
  const text = await readFile(join(root, FILE), 'utf8').catch(() => null);
  if (text === null) return { format: 1, servers: {} };
  try {
    const state = JSON.parse(text) as State;
    if (state.format === 1 && typeof state.servers === 'object') return state;
  } catch {
    // Said below.
  }
  throw new AppError('invalid', `${FILE} cannot be read. Delete it: the next pull or push writes it again.`);
}

/** Null: this folder has not met the server. */
export async function readBase(root: string, url: string): Promise<Base | null> {
  const { servers } = await readState(root);
  return Object.hasOwn(servers, url) ? new Map(Object.entries(servers[url] ?? {})) : null;
}

export async function writeBase(root: string, url: string, server: Configuration): Promise<void> {
  const { servers } = await readState(root);
  const hashes = Object.fromEntries(hashesOf(server));
  const state: State = { format: 1, servers: { ...servers, [url]: hashes } };
  await writeInside(root, FILE, `${JSON.stringify(state)}\n`);
  // It is about this copy of the folder: a repository has no use for it.
  await writeInside(root, `${FOLDER}/.gitignore`, '*\n');
}

/** Every record and setting by its hash. */
export const hashesOf = ({ records, settings }: Configuration): [string, string][] => [
  ...[...records.values()].map((record): [string, string] => [record.id, hashOfRecord(record)]),
  ...Object.entries(settings).map(([name, value]): [string, string] => [settingId(name), hashOfValues(value)]),
];
