import { AppError } from '#core/errors.ts';
import type { EntityValues } from '#core/store/entity-table.ts';
import { type FileFault, type FoundFile, readFolder } from './folder.ts';
import { type Configuration, type FileRecord, normalise, normaliseSettings, secretFields, secretSettings } from './records.ts';
import { type FilePlace, type Overlay, overlayFolder, placesOf, readOverlay, withOverlay } from './overlay.ts';
import { type FileText, readText, TextFault } from './text.ts';

/** A record that was read from a file. */
export interface LocalRecord extends FileRecord {
  readonly path: string;
  readonly text: string;
  /** The values as written in the file, with the name. */
  readonly sent: EntityValues;
  readonly placeOf: (field: string | null) => FilePlace;
  /** The overlay, and the values of the file without it. */
  readonly overlay?: Overlaid;
}

export interface LocalSettings {
  readonly text: string;
  readonly sent: EntityValues;
  readonly placeOf: (field: string | null) => FilePlace;
  readonly overlay?: Overlaid;
}

interface Overlaid {
  readonly file: Overlay;
  readonly values: EntityValues;
}

/** The configuration in a folder. */
export interface Local extends Configuration<LocalRecord> {
  readonly settings_file: LocalSettings | null;
  readonly faults: readonly FileFault[];
  /** All files in the folder, including unreadable ones. */
  readonly paths: readonly string[];
}

/** @param overlay the name of the overlay whose fields replace those of the files. */
export async function readLocal(root: string, overlay: string | null = null): Promise<Local> {
  const { files, faults: found } = await readFolder(root);
  const over = overlay === null ? NO_OVERLAY : await readOverlay(root, overlay);
  const faults: FileFault[] = [...found, ...over.faults];
  for (const path of over.overlays.keys()) {
    if (files.some((file) => file.path === path)) continue;
    faults.push({
      path: `${overlayFolder(overlay ?? '')}/${path}`,
      line: null,
      message: `There is no file ${path} that it changes.`,
    });
  }
  const records = new Map<string, LocalRecord>();
  let settings_file: LocalSettings | null = null;
  let settings: EntityValues = {};
  const attempt = (file: FoundFile, work: Work): void => {
    let place = (_: string | null): FilePlace => ({ path: file.path, line: null });
    try {
      const text = readText(file.text, file.room?.body ?? null);
      const overlaying = over.overlays.get(file.path);
      place = placesOf(file.path, text, overlaying, overlay);
      work(text, overlaying, place);
    } catch (error) {
      faults.push(...faultsOf(file.path, place, error));
    }
  };
  for (const file of files) {
    attempt(file, (text, overlaying, placeOf) => {
      if (file.room === null) {
        const { values } = withOverlay(text, overlaying);
        settings = readSettings(values, placeOf);
        const plain = overlaying && { overlay: { file: overlaying, values: readSettings(text.values, placeOf) } };
        settings_file = { text: file.text, sent: values, placeOf, ...plain };
        return;
      }
      const record = toRecord(file, file.room, text, overlaying, placeOf);
      const other = records.get(record.id);
      if (other !== undefined) throw new TextFault(text.lineOf('name'), `${other.path} has this name too.`);
      records.set(record.id, record);
    });
  }
  return {
    records,
    settings,
    settings_file,
    faults,
    paths: [...files.map(({ path }) => path), ...found.map(({ path }) => path)],
  };
}

type Work = (text: FileText, overlay: Overlay | undefined, placeOf: LocalRecord['placeOf']) => void;

const NO_OVERLAY = { overlays: new Map<string, Overlay>(), faults: [] };

function toRecord(
  file: FoundFile,
  room: NonNullable<FoundFile['room']>,
  text: FileText,
  overlaying: Overlay | undefined,
  placeOf: LocalRecord['placeOf'],
): LocalRecord {
  const { values } = withOverlay(text, overlaying);
  refuseSecrets(secretFields(room, values), placeOf);
  if (overlaying !== undefined && Object.hasOwn(overlaying.values, 'name')) {
    throw new PlaceFault(placeOf('name'), 'An overlay cannot change the name: it belongs to the record of this file.');
  }
  const own = { name: text.values['name'] ?? file.stem };
  const sent: EntityValues = { ...values, ...own };
  const normal = normalise(room, sent);
  const name = String(normal['name']);
  const plain = overlaying && { overlay: { file: overlaying, values: normalise(room, { ...text.values, ...own }) } };
  return { id: `${room.kind}:${name}`, room, name, values: normal, path: file.path, text: file.text, sent, placeOf, ...plain };
}

function readSettings(values: EntityValues, placeOf: LocalRecord['placeOf']): EntityValues {
  refuseSecrets(secretSettings(values), placeOf);
  const elsewhere = ['identity_providers', 'oauth_apps'].find((name) => Object.hasOwn(values, name));
  if (elsewhere !== undefined) {
    throw new PlaceFault(placeOf(elsewhere), `${elsewhere} are configured in the UI of each installation, not in files.`);
  }
  return normaliseSettings(values);
}

/** An error at a place that may be in an overlay. */
class PlaceFault extends Error {
  override readonly name = 'PlaceFault';
  readonly place: FilePlace;
  constructor(place: FilePlace, message: string) {
    super(message);
    this.place = place;
  }
}

function refuseSecrets(fields: readonly string[], placeOf: LocalRecord['placeOf']): void {
  const [field] = fields;
  if (field === undefined) return;
  throw new PlaceFault(placeOf(field), `${field} is a secret, and files hold none. Remove it here and set it in the UI.`);
}

function faultsOf(path: string, placeOf: LocalRecord['placeOf'], error: unknown): FileFault[] {
  if (error instanceof PlaceFault) return [{ ...error.place, message: error.message }];
  if (error instanceof TextFault) return [{ path, line: error.line, message: error.message }];
  if (!(error instanceof AppError)) throw error;
  const { detail, errors } = error;
  if (errors.length === 0) return [{ path, line: null, message: detail }];
  return errors.map(({ field, message }) => ({ ...placeOf(field), message }));
}
