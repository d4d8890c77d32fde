import { AppError } from '#core/errors.ts';
import type { EntityValues } from '#core/store/entity-table.ts';
import { type FileFault, type FoundFile, readFolder } from './folder.ts';
import { type Configuration, type FileRecord, normalise, normaliseSettings, secretFields, secretSettings } from './records.ts';
import { type FilePosition, type Overlay, overlayFolder, positionsOf, readOverlay, withOverlay } from './overlay.ts';
import { type FileText, readText, TextFault } from './text.ts';

/** A record that was read from a file. */
export interface LocalRecord extends FileRecord {
  readonly path: string;
  readonly text: string;
  /** The values as written in the file, with the name. */
  readonly sent: EntityValues;
  readonly positionOf: (field: string | null) => FilePosition;
  /** The overlay, and the values of the file without it. */
  readonly overlay?: Overlaid;
}

export interface LocalSettings {
  readonly text: string;
  readonly sent: EntityValues;
  readonly positionOf: (field: string | null) => FilePosition;
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
    let position = (_: string | null): FilePosition => ({ path: file.path, line: null });
    try {
      const text = readText(file.text, file.room?.body ?? null);
      const overlaying = over.overlays.get(file.path);
      position = positionsOf(file.path, text, overlaying, overlay);
      work(text, overlaying, position);
    } catch (error) {
      faults.push(...faultsOf(file.path, position, error));
    }
  };
  for (const file of files) {
    attempt(file, (text, overlaying, positionOf) => {
      if (file.room === null) {
        const { values } = withOverlay(text, overlaying);
        settings = readSettings(values, positionOf);
        const plain = overlaying && { overlay: { file: overlaying, values: readSettings(text.values, positionOf) } };
        settings_file = { text: file.text, sent: values, positionOf, ...plain };
        return;
      }
      const record = toRecord(file, file.room, text, overlaying, positionOf);
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

type Work = (text: FileText, overlay: Overlay | undefined, positionOf: LocalRecord['positionOf']) => void;

const NO_OVERLAY = { overlays: new Map<string, Overlay>(), faults: [] };

function toRecord(
  file: FoundFile,
  room: NonNullable<FoundFile['room']>,
  text: FileText,
  overlaying: Overlay | undefined,
  positionOf: LocalRecord['positionOf'],
): LocalRecord {
  const { values } = withOverlay(text, overlaying);
  refuseSecrets(secretFields(room, values), positionOf);
  if (overlaying !== undefined && Object.hasOwn(overlaying.values, 'name')) {
    throw new PositionFault(positionOf('name'), 'An overlay cannot change the name: it belongs to the record of this file.');
  }
  const named = { name: text.values['name'] ?? file.stem };
  const sent: EntityValues = { ...values, ...named };
  const normal = normalise(room, sent);
  const name = String(normal['name']);
  const plain = overlaying && { overlay: { file: overlaying, values: normalise(room, { ...text.values, ...named }) } };
  return { id: `${room.kind}:${name}`, room, name, values: normal, path: file.path, text: file.text, sent, positionOf, ...plain };
}

function readSettings(values: EntityValues, positionOf: LocalRecord['positionOf']): EntityValues {
  refuseSecrets(secretSettings(values), positionOf);
  const elsewhere = ['identity_providers', 'oauth_apps'].find((name) => Object.hasOwn(values, name));
  if (elsewhere !== undefined) {
    throw new PositionFault(positionOf(elsewhere), `${elsewhere} are configured in the UI of each installation, not in files.`);
  }
  return normaliseSettings(values);
}

/** An error at a position that may be in an overlay. */
class PositionFault extends Error {
  override readonly name = 'PositionFault';
  readonly position: FilePosition;
  constructor(position: FilePosition, message: string) {
    super(message);
    this.position = position;
  }
}

function refuseSecrets(fields: readonly string[], positionOf: LocalRecord['positionOf']): void {
  const [field] = fields;
  if (field === undefined) return;
  throw new PositionFault(positionOf(field), `${field} is a secret, and files hold none. Remove it here and set it in the UI.`);
}

function faultsOf(path: string, positionOf: LocalRecord['positionOf'], error: unknown): FileFault[] {
  if (error instanceof PositionFault) return [{ ...error.position, message: error.message }];
  if (error instanceof TextFault) return [{ path, line: error.line, message: error.message }];
  if (!(error instanceof AppError)) throw error;
  const { detail, errors } = error;
  if (errors.length === 0) return [{ path, line: null, message: detail }];
  return errors.map(({ field, message }) => ({ ...positionOf(field), message }));
}
