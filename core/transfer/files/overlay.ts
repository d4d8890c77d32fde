import { join } from 'node:path';
import type { EntityValues } from '#core/store/entity-table.ts';
import { canonical } from '#snapshots/format/canonical.ts';
import { checkFolders, type FileFault, type FoundFile, readFolder } from './folder.ts';
import { editText, type FileText, readText, TextFault, writeText } from './text.ts';

/** The folder of overlays: fields of connections and settings that differ from one installation to another. */
const OVERLAYS = 'overlays';

/** The values of `overlays/<name>/<path>`, which replace those of the file `<path>`. */
export interface Overlay {
  /** Of the file that it changes, such as `connections/shop.yaml`. */
  readonly path: string;
  readonly text: string;
  readonly values: EntityValues;
  readonly lineOf: FileText['lineOf'];
}

/** A position in a file. */
export interface FilePosition {
  readonly path: string;
  readonly line: number | null;
}

export const overlayFolder = (name: string): string => `${OVERLAYS}/${name}`;
export const overlayRoot = (root: string, name: string): string => join(root, OVERLAYS, name);

/** @throws AppError when there is no such folder. @returns the files of an overlay, by the path of the file that each changes. */
export async function readOverlay(
  root: string,
  name: string,
): Promise<{ readonly overlays: ReadonlyMap<string, Overlay>; readonly faults: readonly FileFault[] }> {
  await checkFolders(root, [OVERLAYS, name]);
  const { files, faults } = await readFolder(overlayRoot(root, name));
  const found: FileFault[] = [...faults];
  const overlays = new Map<string, Overlay>();
  for (const file of files) {
    const { path, text } = file;
    const message = refusalOf(file);
    if (message !== null) {
      found.push({ path, line: null, message });
      continue;
    }
    try {
      overlays.set(path, { path, text, ...readText(text, null) });
    } catch (error) {
      if (!(error instanceof TextFault)) throw error;
      found.push({ path, line: error.line, message: error.message });
    }
  }
  return { overlays, faults: found.map((fault) => ({ ...fault, path: `${overlayFolder(name)}/${fault.path}` })) };
}

const refusalOf = ({ room }: FoundFile): string | null =>
  room === null || room.kind === 'connection'
    ? null
    : `An overlay changes connections and settings only. A ${room.kind} is the same in every installation.`;

/** The file with the values of its overlay. */
export const withOverlay = (text: FileText, overlay: Overlay | undefined): FileText =>
  overlay === undefined ? text : { ...text, values: { ...text.values, ...overlay.values } };

/** Finds the file and line of a field: for a field of the overlay those of the overlay. */
export const positionsOf =
  (path: string, { lineOf }: FileText, overlay: Overlay | undefined, name: string | null) =>
  (field: string | null): FilePosition => {
    const [top = ''] = (field ?? '').split('.');
    return overlay !== undefined && name !== null && Object.hasOwn(overlay.values, top)
      ? { path: `${overlayFolder(name)}/${overlay.path}`, line: overlay.lineOf(field) }
      : { path, line: lineOf(field) };
  };

/** Values of the fields that an overlay has, out of others. */
export const overlaid = ({ values }: Overlay, all: EntityValues): EntityValues =>
  Object.fromEntries(Object.keys(values).flatMap((field) => (Object.hasOwn(all, field) ? [[field, all[field]]] : [])));

/** The text of an overlay whose fields have these values. @param before as they are now. */
export function overlayText(overlay: Overlay, before: EntityValues, now: EntityValues): string {
  if (canonical(overlaid(overlay, before)) === canonical(overlaid(overlay, now))) return overlay.text;
  const values = overlaid(overlay, now);
  return editText(overlay.text, values, values, null) ?? writeText(values, null);
}
