import { AppError } from '#core/errors.ts';
import type { EntityValues } from '#core/store/entity-table.ts';
import { type FileFault, type FoundFile, readFolder } from './folder.ts';
import { type Configuration, type FileRecord, normalise, normaliseSettings, secretFields, secretSettings } from './records.ts';
import { type FileText, readText, TextFault } from './text.ts';

/** A record that was read from a file. */
export interface LocalRecord extends FileRecord {
  readonly path: string;
  readonly text: string;
  /** The values as written in the file, with the name. */
  readonly sent: EntityValues;
  readonly lineOf: (field: string | null) => number;
}

export interface LocalSettings {
  readonly text: string;
  readonly sent: EntityValues;
  readonly lineOf: (field: string | null) => number;
}

/** The configuration in a folder. */
export interface Local extends Configuration<LocalRecord> {
  readonly settings_file: LocalSettings | null;
  readonly faults: readonly FileFault[];
  /** All files in the folder, including unreadable ones. */
  readonly paths: readonly string[];
}

export async function readLocal(root: string): Promise<Local> {
  const { files, faults: found } = await readFolder(root);
  const faults: FileFault[] = [...found];
  const records = new Map<string, LocalRecord>();
  let settings_file: LocalSettings | null = null;
  let settings: EntityValues = {};
  const attempt = (file: FoundFile, work: (text: FileText) => void): void => {
    let text: FileText | null = null;
    try {
      text = readText(file.text, file.room?.body ?? null);
      work(text);
    } catch (error) {
      faults.push(...faultsOf(file.path, text, error));
    }
  };
  for (const file of files) {
    attempt(file, (text) => {
      if (file.room === null) {
        settings = readSettings(text);
        settings_file = { text: file.text, sent: text.values, lineOf: text.lineOf };
        return;
      }
      const record = toRecord(file, file.room, text);
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

function toRecord(file: FoundFile, room: NonNullable<FoundFile['room']>, { values, lineOf }: FileText): LocalRecord {
  refuseSecrets(secretFields(room, values), lineOf);
  const sent: EntityValues = { ...values, name: values['name'] ?? file.stem };
  const normal = normalise(room, sent);
  const name = String(normal['name']);
  return { id: `${room.kind}:${name}`, room, name, values: normal, path: file.path, text: file.text, sent, lineOf };
}

function readSettings({ values, lineOf }: FileText): EntityValues {
  refuseSecrets(secretSettings(values), lineOf);
  const elsewhere = ['identity_providers', 'oauth_apps'].find((name) => Object.hasOwn(values, name));
  if (elsewhere !== undefined) {
    throw new TextFault(lineOf(elsewhere), `${elsewhere} are configured in the UI of each installation, not in files.`);
  }
  return normaliseSettings(values);
}

function refuseSecrets(fields: readonly string[], lineOf: FileText['lineOf']): void {
  const [field] = fields;
  if (field === undefined) return;
  throw new TextFault(lineOf(field), `${field} is a secret, and files hold none. Remove it here and set it in the UI.`);
}

function faultsOf(path: string, text: FileText | null, error: unknown): FileFault[] {
  if (error instanceof TextFault) return [{ path, line: error.line, message: error.message }];
  if (!(error instanceof AppError)) throw error;
  return toFileFaults(path, text?.lineOf ?? null, error);
}

/** The errors of a check, at the lines of their fields. */
function toFileFaults(path: string, lineOf: FileText['lineOf'] | null, { detail, errors }: AppError): FileFault[] {
  if (errors.length === 0) return [{ path, line: null, message: detail }];
  return errors.map(({ field, message }) => ({ path, line: lineOf?.(field) ?? null, message }));
}
