import { AppError } from '#core/errors.ts';
import type { EntityValues } from '#core/store/entity-table.ts';
import { canonical } from '#snapshots/format/canonical.ts';
import { removeInside, writeInside } from './folder.ts';
import { fileNameOf, ROOMS, SETTINGS_FILE } from './layout.ts';
import { type Local, type LocalRecord, type LocalSettings, readLocal } from './local.ts';
import { overlaid, type Overlay, overlayFolder, overlayRoot, overlayText } from './overlay.ts';
import {
  type Configuration,
  type FileRecord,
  hashOfRecord,
  hashOfValues,
  isSameRecord,
  normalise,
  normaliseSettings,
  settingId,
  slimSettings,
  slimValues,
} from './records.ts';
import type { Base } from './state.ts';
import { editText, readText, TextFault, writeText } from './text.ts';
import { plain } from './words.ts';

export interface PullOptions {
  /** Replaces files with changes that were not pushed. */
  readonly force: boolean;
  /** Also deletes files of records that the server never had. */
  readonly prune: boolean;
  /** The overlay that takes the fields that it has. */
  readonly overlay?: string | null;
}

export interface Pulled {
  readonly created: readonly string[];
  readonly updated: readonly string[];
  readonly deleted: readonly string[];
  /** Files of records that only the folder has. */
  readonly only_here: readonly string[];
  readonly unchanged: number;
}

/** Writes a server's configuration into a folder. Existing comments, order and file names stay. */
export async function pullInto(
  root: string,
  server: Configuration,
  base: Base | null,
  { force, prune, overlay = null }: PullOptions,
): Promise<Pulled> {
  const local = await readLocal(root, overlay);
  if (!force && local.faults.length > 0) throw new PullRefused(local.faults.map(faultLine));
  const blocked = force ? [] : unpushed(local, server, base);
  if (blocked.length > 0) {
    throw new PullRefused(
      blocked.map((path) => `${path} has changes that were not pushed. Push them, or pull with --force to replace them.`),
    );
  }
  const broken = new Set(force ? local.faults.map(({ path }) => path) : []);
  const taken = takenNames(local, broken);
  const done = {
    created: [] as string[],
    updated: [] as string[],
    deleted: [] as string[],
    only_here: [] as string[],
    unchanged: 0,
  };
  const put = async (path: string, before: string | null, text: string): Promise<void> => {
    if (before === text) {
      done.unchanged += 1;
      return;
    }
    await writeInside(root, path, text);
    (before === null && !broken.has(path) ? done.created : done.updated).push(path);
  };
  const putOverlay = async (file: Overlay, text: string): Promise<void> => {
    if (overlay === null || text === file.text) return;
    await writeInside(overlayRoot(root, overlay), file.path, text);
    done.updated.push(`${overlayFolder(overlay)}/${file.path}`);
  };
  for (const record of server.records.values()) {
    const here = local.records.get(record.id);
    if (here !== undefined) {
      const file = here.overlay?.file;
      await put(here.path, here.text, updatedText(...withoutOverlay(record, here)));
      if (file !== undefined) await putOverlay(file, overlayText(file, here.values, record.values));
    } else {
      const { folder, extension } = record.room;
      const file = fileNameOf(record.name, extension, taken.get(folder) ?? new Set());
      await put(`${folder}/${file}`, null, newText(record, file.slice(0, -extension.length)));
    }
  }
  for (const record of local.records.values()) {
    const { id, path } = record;
    if (server.records.has(id)) continue;
    if (prune || base?.get(id) === hashOfRecord(record)) {
      await removeInside(root, path);
      done.deleted.push(path);
    } else done.only_here.push(path);
  }
  const { settings_file } = local;
  await put(SETTINGS_FILE, settings_file?.text ?? null, settingsText(settings_file, local.settings, server.settings));
  const over_settings = settings_file?.overlay?.file;
  if (over_settings !== undefined) await putOverlay(over_settings, overlayText(over_settings, local.settings, server.settings));
  return done;
}

/** The pull was refused, and nothing was written. */
class PullRefused extends AppError {
  constructor(lines: readonly string[]) {
    super('invalid', lines.join('\n'));
  }
}

export const faultLine = ({ path, line, message }: { path: string; line: number | null; message: string }): string =>
  plain(`${path}${line === null ? '' : `:${line}`}: ${message}`);

/**
 * Files that differ both from the server and from what the server last had. Without a previous pull or push, all files that
 * differ.
 */
function unpushed(local: Local, server: Configuration, base: Base | null): string[] {
  const paths = [...local.records.values()].flatMap((record) => {
    const before = base?.get(record.id);
    const now = server.records.get(record.id);
    if (before === hashOfRecord(record)) return [];
    // A record that the server never had stays.
    return (now === undefined ? before === undefined : isSameRecord(record, now.values)) ? [] : [record.path];
  });
  const changed = Object.entries(local.settings).some(
    ([name, value]) =>
      base?.get(settingId(name)) !== hashOfValues(value) && canonical(server.settings[name]) !== canonical(value),
  );
  return changed ? [...paths, SETTINGS_FILE] : paths;
}

/** Lower-case file names in each folder. */
function takenNames({ paths }: Local, without: ReadonlySet<string>): Map<string, Set<string>> {
  const taken = new Map(ROOMS.map(({ folder }) => [folder as string, new Set<string>()]));
  for (const path of paths) {
    const [folder = '', file = ''] = path.split('/');
    if (!without.has(path)) taken.get(folder)?.add(file.toLowerCase());
  }
  return taken;
}

function newText({ room, name, values }: FileRecord, stem: string): string {
  const slim = slimValues(room, values);
  const named = stem === name ? slim : { name, ...slim };
  return writeText(named, room.body);
}

/** The record and its file for what the overlay does not have: its fields stay in the file as they are. */
function withoutOverlay(record: FileRecord, here: LocalRecord): [FileRecord, LocalRecord] {
  if (here.overlay === undefined) return [record, here];
  const { file, values } = here.overlay;
  return [
    { ...record, values: { ...record.values, ...overlaid(file, values) } },
    { ...here, values },
  ];
}

function updatedText(record: FileRecord, here: LocalRecord): string {
  const { text } = here;
  if (isSameRecord(here, record.values)) return text;
  const { room, name } = record;
  const slim = slimValues(room, record.values);
  const edited = editText(text, slim, { ...record.values, name }, room.body);
  if (edited !== null && says(edited, record)) return edited;
  return writeText({ name, ...slim }, room.body);
}

const says = (text: string, { room, name, values }: FileRecord): boolean =>
  isSame(values, () => normalise(room, { name, ...readText(text, room.body).values }));

function isSame(values: unknown, read: () => unknown): boolean {
  try {
    return canonical(read()) === canonical(values);
  } catch (error) {
    if (error instanceof TextFault || error instanceof AppError) return false;
    throw error;
  }
}

/** The settings that the file contains. A new file contains all of them. */
function settingsText(settings_file: LocalSettings | null, local: EntityValues, all: EntityValues): string {
  if (settings_file === null) return writeText(slimSettings(all), null);
  const { overlay } = settings_file;
  const settings = overlay?.values ?? local;
  const server = overlay === undefined ? all : { ...all, ...overlaid(overlay.file, overlay.values) };
  const named = Object.fromEntries(Object.keys(settings).map((name) => [name, server[name]]));
  if (canonical(named) === canonical(settings)) return settings_file.text;
  const slim = slimSettings(named);
  const edited = editText(settings_file.text, slim, slim, null);
  const same = edited !== null && isSame(named, () => normaliseSettings(readText(edited, null).values));
  return same ? edited : writeText(slim, null);
}
