import { createHash } from 'node:crypto';
import { basename, dirname } from 'node:path/posix';
import type { FileSettings, FolderSettings } from '#core/contract/definitions/file-settings.ts';
import { matcherOf } from '#core/lib/wildcards.ts';
import { type FileKind, type FoundFile, kindOfFile } from './scan.ts';

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

/** The tables of a folder. The same files and settings always give the same names. */
export function planTables(files: readonly FoundFile[], settings: FolderSettings): PlannedTable[] {
  const patterns = Object.keys(settings).flatMap((key) => (key.includes('*') ? [{ key, matches: matcherOf(key) }] : []));
  const groups = new Map<string, FoundFile[]>();
  for (const file of files) {
    const pattern = kindOfFile(file.name) === 'sqlite' ? undefined : patterns.find(({ matches }) => matches(file.name));
    const key = pattern?.key ?? file.name;
    const members = groups.get(key);
    if (members === undefined) groups.set(key, [file]);
    else members.push(file);
  }
  const taken = new Set<string>();
  return [...groups].map(([key, members]) => {
    const kind = kindOfFile(members[0]!.name)!;
    const of = settings[key] ?? {};
    const folder = dirname(key);
    const schema = folder === '.' ? 'main' : schemaName(folder.split('/').map(nameOf).join('_'));
    const name = wantedName(key, settings);
    const unique = kind === 'sqlite' ? free(schemaName(name), taken, 'schema ') : free(name, taken, `${schema} `);
    const marks = members.map(({ name: file, mark }) => `${file} ${mark}`);
    return {
      key,
      files: members,
      kind,
      schema: kind === 'sqlite' ? unique : schema,
      table: kind === 'sqlite' ? null : unique,
      settings: of,
      mark: createHash('sha256')
        .update(JSON.stringify([RECIPE, marks, of, schema, unique]))
        .digest('hex')
        .slice(0, 32),
    };
  });
}

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

/** Names differ by more than their case. */
function free(name: string, taken: Set<string>, kind: string): string {
  let unique = name;
  for (let n = 2; taken.has(kind + unique.toLowerCase()); n++) unique = `${name}_${n}`;
  taken.add(kind + unique.toLowerCase());
  return unique;
}
