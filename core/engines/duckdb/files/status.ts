import type { FolderFiles } from '#core/engines/shared/descriptor.ts';
import { folderBytes } from '#core/engines/shared/files/folder-bytes.ts';
import { invalidField } from '#core/errors.ts';
import { withTimeout } from '#core/lib/with-timeout.ts';
import { resolveDuckdb } from '../path.ts';
import { lastRead, readFolder } from './folder.ts';
import type { ManifestEntry } from './manifest.ts';
import { preferredName } from './plan.ts';
import { kindOfFile, scanFolder } from './scan.ts';
import { folderSettings } from './settings.ts';

/** Milliseconds that a list of files waits for changed files to be read. */
const READ_WAIT_MS = 4_000;

const NOT_READ = { tables: [], imported_at: null, rejected_rows: 0, rejected: [], notes: [], offers: [] };

/** Names are case-insensitive. */
const tableKey = (schema: string, table: string | null): string => `${schema} ${table ?? ''}`.toLowerCase();

export const DUCKDB_FILES: FolderFiles = {
  folder(database, policy) {
    const { kind, path } = resolveDuckdb(database, policy);
    if (kind === 'folder') return path;
    throw invalidField('database', 'This connection is one .duckdb file; only a folder takes files.');
  },
  nameFault(name) {
    if (/[/\\\p{Cc}]/u.test(name) || name.startsWith('.') || name !== name.trim() || name !== name.normalize('NFC')) {
      return 'The name of a file cannot begin with a dot or hold slashes or control characters.';
    }
    if (Buffer.byteLength(name) > 200) return 'The name of the file is longer than 200 bytes.';
    if (kindOfFile(name) === null) {
      return 'Files have to end in .csv, .tsv, .json, .jsonl or .ndjson (also with .gz), .parquet, .sqlite or .db.';
    }
    return null;
  },
  bytes(database, policy) {
    return folderBytes(this.folder(database, policy));
  },
  async status(connection, policy) {
    const late = AbortSignal.timeout(READ_WAIT_MS);
    const work = readFolder(connection, policy, late).catch((error: unknown) => {
      if (late.aborted) return null;
      throw error;
    });
    work.catch(() => undefined);
    const read = await withTimeout(work, READ_WAIT_MS, () => null);
    const { files, left_out } = await scanFolder(this.folder(connection.database, policy));
    const last = read === null ? lastRead(connection, policy) : { entries: read, progress: null };
    const entries = new Map(last.entries.flatMap((entry) => entry.files.map((name) => [name, entry])));
    const settings = folderSettings(connection.extra_params);
    const owners = new Map([...entries.values()].map((entry) => [tableKey(entry.schema, entry.table), entry.key]));
    const nameNotes = (entry: ManifestEntry | undefined): string[] => {
      const preferred = entry === undefined ? null : preferredName(entry.key, settings);
      if (entry === undefined || preferred === null || entry.table === null || preferred === entry.table) return [];
      const owner = owners.get(tableKey(entry.schema, preferred));
      if (owner === undefined)
        return [
          `Another file had the table ${preferred}, so this one is ${entry.table}. Enter ${preferred} as its table name to rename it.`,
        ];
      return [`${owner} has the table ${preferred}, so this one is ${entry.table}. Enter another table name for one of them.`];
    };
    const items = files.map(({ name, bytes, changed_at }) => {
      const entry = entries.get(name);
      return {
        name,
        bytes,
        changed_at,
        key: entry?.key ?? name,
        tables: (entry?.tables ?? []).map((table) => ({ ...table, columns: table.columns.map((column) => ({ ...column })) })),
        imported_at: entry?.imported_at ?? null,
        rejected_rows: entry?.rejected_rows ?? 0,
        rejected: [...(entry?.rejected ?? [])],
        notes: [...(entry?.notes ?? []), ...nameNotes(entry)],
        offers: (entry?.offers ?? []).map((offer) => ({ ...offer, thousands: [...offer.thousands] })),
        error: entry?.error ?? null,
      };
    });
    const others = left_out.map(({ reason, ...file }) => ({
      ...file,
      key: file.name,
      ...NOT_READ,
      error: { message: reason, line: null },
    }));
    return { items: [...items, ...others], reading: read === null, progress: last.progress };
  },
};
