import { createHash } from 'node:crypto';
import { basename, dirname } from 'node:path/posix';
import type { FileSettings, FolderSettings } from '#core/contract/definitions/file-settings.ts';
import { matcherOf } from '#core/lib/wildcards.ts';
import { type FileKind, type FoundFile, kindOfFile } from './scan.ts';
import { giveNames, type TableNames, type Wish } from './table-names.ts';

/** What becomes of one file, or of the files of one pattern. */
export interface PlannedTable {
  /** The name of the file, or the pattern. */
  readonly key: string;
  readonly files: readonly FoundFile[];
  readonly kind: FileKind;
  readonly schema: string;
  /** A SQLite file is a schema with tables of its own. */
  readonly table: string | null;
  readonly settings: FileSettings;
  /** Another text when anything changes that its rows depend on. */
  readonly mark: string;
}

/** What the program that makes the cache does, in this order. */
export type BuildStep =
  | { readonly step: 'drop'; readonly tables: readonly TableName[] }
  | {
      readonly step: 'read';
      /** Absolute. */
      readonly paths: readonly string[];
      /** Files of a pattern get a column with the name of their file. */
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

export interface MadeTable extends TableName {
  readonly rows: number;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
}

export interface Rejected {
  readonly line: number;
  readonly column: string | null;
  readonly reason: string;
}

/** What became of a step that reads. */
export interface BuiltTable {
  readonly step: number;
  readonly tables: readonly MadeTable[];
  /** The first of the lines that were left out. */
  readonly rejected: readonly Rejected[];
  readonly rejected_rows: number;
  /** What was done that its reader should know, in sentences. */
  readonly notes: readonly string[];
  readonly error: { readonly message: string; readonly line: number | null } | null;
}

/** Bump when the same file would give other tables. */
const RECIPE = 4;
/** Schemas of DuckDB itself. */
const RESERVED: ReadonlySet<string> = new Set(['main', 'temp', 'system', 'information_schema', 'pg_catalog']);

/** The tables of a folder. @param known names that were given before; without any, the same files and settings give the same ones. */
export function planTables(files: readonly FoundFile[], settings: FolderSettings, known: TableNames = new Map()): PlannedTable[] {
  const groups = [...groupsOf(files, settings)].map(([key, members]) => ({ key, members, kind: kindOfFile(members[0]!.name)! }));
  const isEntered = (key: string): boolean => settings[key]?.table !== undefined;
  const wishOf = (key: string): Omit<Wish, 'scope'> => ({ key, wanted: wantedName(key, settings), is_entered: isEntered(key) });
  const folders = new Set(groups.flatMap(({ key, kind }) => (kind === 'sqlite' ? [] : (folderKey(key) ?? []))));
  const databases = groups.flatMap(({ key, kind }) => (kind === 'sqlite' ? [wishOf(key)] : []));
  const schemas = giveNames(
    [
      ...[...folders].map((key) => ({ key, wanted: key.slice(0, -1), is_entered: false, scope: '' })),
      ...databases.map((wish) => ({ ...wish, wanted: schemaName(wish.wanted), scope: '' })),
    ],
    known,
  );
  const schemaOf = (key: string): string => schemas.get(key) ?? schemas.get(folderKey(key) ?? '') ?? 'main';
  const tables = giveNames(
    groups.flatMap(({ key, kind }) => (kind === 'sqlite' ? [] : [{ ...wishOf(key), scope: schemaOf(key) }])),
    known,
  );
  return groups.map(({ key, members, kind }) => {
    const of = settings[key] ?? {};
    const schema = schemaOf(key);
    const table = tables.get(key) ?? null;
    const marks = members.map(({ name: file, mark }) => `${file} ${mark}`);
    // With the schema of its folder, as before: an update reads no file again.
    const place = kind === 'sqlite' ? [folderSchema(key), schema] : [schema, table];
    return {
      key,
      files: members,
      kind,
      schema,
      table,
      settings: of,
      mark: createHash('sha256')
        .update(JSON.stringify([RECIPE, marks, of, ...place]))
        .digest('hex')
        .slice(0, 32),
    };
  });
}

/** By the pattern that they belong to, or their own name. */
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

/** The names to know of the tables that are planned or there. */
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

/** The folders whose files share a schema have one key, which no file has; null: a file at the top. */
const folderKey = (key: string): string | null => (dirname(key) === '.' ? null : `${folderSchema(key)}/`);

/** What the table of a file, or of a pattern, is called unless another one has the name. */
export const wantedName = (key: string, settings: FolderSettings): string =>
  settings[key]?.table ?? nameOf(stemOf(basename(key)));

const stemOf = (name: string): string => name.replace(/\.gz$/i, '').replace(/\.[^.]+$/, '');

/** A name that SQL takes without quotes. */
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
