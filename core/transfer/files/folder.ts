import { constants } from 'node:fs';
import { lstat, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '#core/errors.ts';
import { type Room, ROOMS, SETTINGS_FILE } from './layout.ts';

/** Reads and writes the files of a folder, without following links and never outside of the folder. */

/** Maximum bytes of one file. The longest SQL and template together are far smaller. */
const MOST_BYTES = 4 * 1024 * 1024;

export interface FoundFile {
  /** `tools/find_orders.sql`. */
  readonly path: string;
  /** Null: the settings of the server. */
  readonly room: Room | null;
  /** The file's name without its extension. */
  readonly stem: string;
  readonly text: string;
}

/** A problem in a file. Without a line, it concerns the whole file. */
export interface FileFault {
  readonly path: string;
  readonly line: number | null;
  readonly message: string;
}

const code = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? '';
const kindOf = async (path: string): Promise<'none' | 'file' | 'folder' | 'link' | 'other'> => {
  const found = await lstat(path).catch((error: unknown) => {
    if (code(error) === 'ENOENT') return null;
    throw error;
  });
  if (found === null) return 'none';
  if (found.isSymbolicLink()) return 'link';
  return found.isFile() ? 'file' : found.isDirectory() ? 'folder' : 'other';
};

/** Files that editors and operating systems create. */
const isIgnored = (name: string): boolean => name.startsWith('.') || name.endsWith('~');

export async function readFolder(
  root: string,
): Promise<{ readonly files: readonly FoundFile[]; readonly faults: readonly FileFault[] }> {
  const files: FoundFile[] = [];
  const faults: FileFault[] = [];
  const add = async (path: string, room: Room | null, stem: string): Promise<void> => {
    const text = await readPlain(join(root, path)).catch((error: unknown) => {
      if (!(error instanceof AppError)) throw error;
      faults.push({ path, line: null, message: error.detail });
      return null;
    });
    if (text !== null) files.push({ path, room, stem, text });
  };
  for (const room of ROOMS) {
    for (const { name, fault } of await namesIn(root, room)) {
      const path = fault === null || name !== '' ? `${room.folder}/${name}` : room.folder;
      if (fault === null) await add(path, room, name.slice(0, -room.extension.length));
      else faults.push({ path, line: null, message: fault });
    }
  }
  if ((await kindOf(join(root, SETTINGS_FILE))) !== 'none') await add(SETTINGS_FILE, null, 'server');
  return { files, faults };
}

async function namesIn(
  root: string,
  { folder, extension }: Room,
): Promise<{ readonly name: string; readonly fault: string | null }[]> {
  const kind = await kindOf(join(root, folder));
  if (kind === 'none') return [];
  if (kind !== 'folder') return [{ name: '', fault: NOT_A_FOLDER }];
  const names = (await readdir(join(root, folder))).filter((name) => !isIgnored(name)).toSorted();
  return Promise.all(
    names.map(async (name) => {
      const found = await kindOf(join(root, folder, name));
      if (found === 'folder') return { name, fault: 'This folder cannot have folders in it. Move its files up.' };
      if (!name.endsWith(extension))
        return { name, fault: `Files in ${folder}/ end with ${extension}. Rename it, or move it elsewhere.` };
      return { name, fault: null };
    }),
  );
}

const NOT_A_FOLDER = 'This must be a folder, not a file or a symbolic link.';
const LINK = 'This is a symbolic link. Links are not followed: put the file itself here.';

async function readPlain(path: string): Promise<string> {
  const kind = await kindOf(path);
  if (kind === 'link') throw new AppError('invalid', LINK);
  if (kind !== 'file') throw new AppError('invalid', 'This is not a file.');
  const file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0)).catch((error: unknown) => {
    throw new AppError('invalid', code(error) === 'ELOOP' ? LINK : `This file cannot be read (${code(error)}).`, {
      cause: error,
    });
  });
  try {
    if ((await file.stat()).size > MOST_BYTES) throw new AppError('invalid', 'This file is larger than 4 MiB.');
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await file.readFile());
  } catch (error) {
    if (error instanceof TypeError) throw new AppError('invalid', 'This file is not UTF-8 text.', { cause: error });
    throw error;
  } finally {
    await file.close();
  }
}

/** Checks the folder that a command received. The folder itself may be a link. */
export async function checkRoot(root: string, create: boolean): Promise<void> {
  const found = await stat(root).catch(() => null);
  if (found?.isDirectory()) return;
  if (found !== null) throw new AppError('invalid', `${root} is not a folder.`);
  if (!create) throw new AppError('not_found', `There is no folder ${root}.`);
  await mkdir(root, { recursive: true });
}

/** Writes a file atomically, so that a crash leaves the old text or the new one. Refuses links in the path. */
export async function writeInside(root: string, path: string, text: string): Promise<void> {
  const parts = path.split('/');
  const name = parts.at(-1) ?? '';
  if (parts.length > 2 || parts.some((part) => part === '' || part === '..' || part === '.' || /[\\:\0]/.test(part))) {
    throw new AppError('invalid', `${JSON.stringify(path)} is not a safe file name.`);
  }
  const folder = parts.length === 2 ? join(root, parts[0] ?? '') : root;
  if (folder !== root) {
    const kind = await kindOf(folder);
    if (kind === 'none') await mkdir(folder);
    else if (kind !== 'folder') throw new AppError('invalid', `${parts[0]}: ${NOT_A_FOLDER}`);
  }
  const target = join(folder, name);
  if ((await kindOf(target)) === 'link') throw new AppError('invalid', `${path}: ${LINK}`);
  const draft = join(folder, `.${process.pid}-${crypto.randomUUID()}.new`);
  try {
    const file = await open(draft, 'wx', 0o666);
    try {
      await file.writeFile(text);
    } finally {
      await file.close();
    }
    await rename(draft, target);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** Throws when one of these folders, each in the one before, is missing or a link. */
export async function checkFolders(root: string, names: readonly string[]): Promise<void> {
  for (const [n, name] of names.entries()) {
    const path = names.slice(0, n + 1).join('/');
    if (!/^[\w-]+$/.test(name))
      throw new AppError('invalid', `${JSON.stringify(name)} is no name of an overlay. Use letters, digits, _ and -.`);
    const kind = await kindOf(join(root, path));
    if (kind === 'none') throw new AppError('not_found', `There is no folder ${path}.`);
    if (kind !== 'folder') throw new AppError('invalid', `${path}: ${NOT_A_FOLDER}`);
  }
}

/** Throws when a folder of the export, or a file in it, is a link. */
export async function checkHidden(root: string, folder: string, file: string): Promise<void> {
  const kinds = [await kindOf(join(root, folder)), await kindOf(join(root, folder, file))];
  if (kinds.includes('link')) throw new AppError('invalid', `${folder}/${file}: ${LINK}`);
}

export const removeInside = (root: string, path: string): Promise<void> => rm(join(root, path));
