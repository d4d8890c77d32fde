import { createHash } from 'node:crypto';
import { basename, dirname } from 'node:path/posix';
import type { ColumnOffer } from '#core/contract/definitions/files.ts';
import type { FileSettings, FolderSettings, Thousands } from '#core/contract/definitions/file-settings.ts';
import { matcherOf } from '#core/lib/wildcards.ts';
import { type FileKind, type FoundFile, kindOfFile } from './scan.ts';
import { assignNames, type TableNames, type NameRequest } from './table-names.ts';

/** The table planned for one file, or for the files of one pattern. */
export interface PlannedTable {
  /** The file name or the pattern. */
  readonly key: string;
  readonly files: readonly FoundFile[];
  readonly kind: FileKind;
  readonly schema: string;
  /** Null for a SQLite file, which becomes a schema with its tables. */
  readonly table: string | null;
  readonly settings: FileSettings;
  /** A text that changes with everything that the rows depend on. */
  readonly mark: string;
}

/** Steps of the program that builds the cache, in order. */
export type BuildStep =
  | { readonly step: 'drop'; readonly tables: readonly TableName[] }
  | {
      readonly step: 'read';
      /** Absolute paths. */
      readonly paths: readonly string[];
      /** True for a pattern: the table gets a column with the file name. */
      readonly many: boolean;
      readonly kind: FileKind;
      readonly schema: string;
      readonly table: string | null;
      readonly settings: FileSettings;
    };

export interface TableName {
  readonly schema: string;
  readonly name: string;
}

export interface CachedTable extends TableName {
  readonly rows: number;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
}

export interface Rejected {
  readonly line: number;
  readonly column: string | null;
  readonly reason: string;
}

/** A column that could be read in a better way. */
export type ReadableOffer = Pick<ColumnOffer, 'column' | 'kind'> & { readonly thousands: readonly Thousands[] };

/** The result of a step that reads. */
export interface BuiltTable {
  readonly step: number;
  readonly tables: readonly CachedTable[];
  /** The first of the rejected lines. */
  readonly rejected: readonly Rejected[];
  readonly rejected_rows: number;
  /** Notes for the user about how the file was read, as sentences. */
  readonly notes: readonly string[];
  readonly offers: readonly ReadableOffer[];
  readonly error: { readonly message: string; readonly line: number | null } | null;
}

/** Increment it when the same file would produce other tables. */
const RECIPE_VERSION = 5;
/** Schemas that DuckDB defines. */
const RESERVED: ReadonlySet<string> = new Set(['main', 'temp', 'system', 'information_schema', 'pg_catalog']);

/**
 * Plans the tables of a folder. @param known names that are already assigned. Without any, the same files and settings produce
 * the same names.
 */
export function planTables(files: readonly FoundFile[], settings: FolderSettings, known: TableNames = new Map()): PlannedTable[] {
  const groups = [...groupsOf(files, settings)].map(([key, members]) => ({ key, members, kind: kindOfFile(members[0]!.name)! }));
  const isEntered = (key: string): boolean => settings[key]?.table !== undefined;
  const requestOf = (key: string): Omit<NameRequest, 'scope'> => ({
    key,
    preferred: preferredName(key, settings),
    is_entered: isEntered(key),
  });
  const folders = new Set(groups.flatMap(({ key, kind }) => (kind === 'sqlite' ? [] : (folderKey(key) ?? []))));
  const databases = groups.flatMap(({ key, kind }) => (kind === 'sqlite' ? [requestOf(key)] : []));
  const schemas = assignNames(
    [
      ...[...folders].map((key) => ({ key, preferred: key.slice(0, -1), is_entered: false, scope: '' })),
      ...databases.map((request) => ({ ...request, preferred: schemaName(request.preferred), scope: '' })),
    ],
    known,
  );
  const schemaOf = (key: string): string => schemas.get(key) ?? schemas.get(folderKey(key) ?? '') ?? 'main';
  const tables = assignNames(
    groups.flatMap(({ key, kind }) => (kind === 'sqlite' ? [] : [{ ...requestOf(key), scope: schemaOf(key) }])),
    known,
  );
  return groups.map(({ key, members, kind }) => {
    const of = settings[key] ?? {};
    const schema = schemaOf(key);
    const table = tables.get(key) ?? null;
    const marks = members.map(({ name: file, mark }) => `${file} ${mark}`);
    const name_path = kind === 'sqlite' ? [folderSchema(key), schema] : [schema, table];
    return {
      key,
      files: members,
      kind,
      schema,
      table,
      settings: of,
      mark: createHash('sha256')
        .update(JSON.stringify([RECIPE_VERSION, marks, of, ...name_path]))
        .digest('hex')
        .slice(0, 32),
    };
  });
}

/** Groups files by the pattern that they match, or by their name. */
function groupsOf(files: readonly FoundFile[], settings: FolderSettings): Map<string, FoundFile[]> {
  const patterns = Object.keys(settings).flatMap((key) => (key.includes('*') ? [{ key, matches: matcherOf(key) }] : []));
  const groups = new Map<string, FoundFile[]>();
  for (const file of files) {
    const pattern = kindOfFile(file.name) === 'sqlite' ? undefined : patterns.find(({ matches }) => matches(file.name));
    const key = pattern?.key ?? file.name;
    const members = groups.get(key);
    if (members === undefined) groups.set(key, [file]);
    else members.push(file);
  }
  return groups;
}

/** The stored names of planned or existing tables. */
export const namesOf = (tables: readonly Pick<PlannedTable, 'key' | 'schema' | 'table'>[]): Map<string, string> =>
  new Map(
    tables.flatMap(({ key, schema, table }): [string, string][] => {
      const folder = folderKey(key);
      if (table === null) return [[key, schema]];
      return folder === null
        ? [[key, table]]
        : [
            [folder, schema],
            [key, table],
          ];
    }),
  );

const folderSchema = (key: string): string => {
  const folder = dirname(key);
  return folder === '.' ? 'main' : schemaName(folder.split('/').map(nameOf).join('_'));
};

/** The key of a folder, whose files share a schema. No file can have this key. Null: a file at the top. */
const folderKey = (key: string): string | null => (dirname(key) === '.' ? null : `${folderSchema(key)}/`);

/** The name for the table of a file or pattern, unless another table has it. */
export const preferredName = (key: string, settings: FolderSettings): string =>
  settings[key]?.table ?? nameOf(stemOf(basename(key)));

const stemOf = (name: string): string => name.replace(/\.gz$/i, '').replace(/\.[^.]+$/, '');

/** Turns a text into a name that SQL accepts without quotes. */
function nameOf(text: string): string {
  const name = text
    .normalize('NFC')
    .replaceAll(/[^\p{L}\p{N}_]+/gu, '_')
    .replaceAll(/^_+|_+$/g, '')
    .slice(0, 60);
  if (name === '') return 'file';
  return /^\p{N}/u.test(name) ? `_${name}` : name;
}

const schemaName = (name: string): string => (RESERVED.has(name.toLowerCase()) ? `${name}_` : name);
