import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BuildStep, BuiltTable, CachedTable, PlannedTable, TableName } from './plan.ts';

/** The last import of a file, or of the files of a pattern. */
export interface ManifestEntry {
  readonly key: string;
  readonly files: readonly string[];
  readonly schema: string;
  readonly table: string | null;
  readonly mark: string;
  /** Milliseconds. The time of the last successful import. */
  readonly imported_at: number | null;
  /** The tables that are served: those of the last successful import. */
  readonly tables: readonly CachedTable[];
  readonly rejected: BuiltTable['rejected'];
  readonly rejected_rows: number;
  readonly notes: readonly string[];
  readonly offers: BuiltTable['offers'];
  readonly error: BuiltTable['error'];
}

/** Describes a cache and its contents. The file is replaced as a whole. */
export interface Manifest {
  /** File name of the cache beside it. */
  readonly cache: string;
  readonly entries: readonly ManifestEntry[];
}

const NAME = 'manifest.json';

export function readManifest(folder: string): Manifest | null {
  try {
    const manifest = JSON.parse(readFileSync(join(folder, NAME), 'utf8')) as Manifest;
    return statSync(join(folder, manifest.cache)).isFile() ? manifest : null;
  } catch {
    return null;
  }
}

/** A text that changes with the manifest; costs a few microseconds. */
export function manifestMark(folder: string): string {
  const found = statSync(join(folder, NAME), { bigint: true, throwIfNoEntry: false });
  return found === undefined ? '' : `${found.ino}.${found.mtimeNs}`;
}

export function writeManifest(folder: string, manifest: Manifest): void {
  const path = join(folder, NAME);
  writeFileSync(`${path}.new`, JSON.stringify(manifest), { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

/** The steps that bring a cache up to date with a plan. */
export interface Difference {
  readonly steps: readonly BuildStep[];
  /** The table that each step reads. Null: the step drops tables. */
  readonly planned: readonly (PlannedTable | null)[];
}

/** @param fileOf returns the absolute path of a file. @returns null when nothing changed. */
export function difference(
  plan: readonly PlannedTable[],
  manifest: Manifest | null,
  fileOf: (name: string) => string,
): Difference | null {
  const before = new Map(manifest?.entries.map((entry) => [entry.key, entry]));
  const retained = new Set(plan.flatMap((each) => (hasSameName(each, before.get(each.key)) ? [each.key] : [])));
  const dropped: TableName[] = [...before.values()].filter(({ key }) => !retained.has(key)).flatMap(({ tables }) => [...tables]);
  const changed = plan.filter(({ key, mark }) => before.get(key)?.mark !== mark);
  if (manifest !== null && changed.length === 0 && before.size === plan.length) return null;
  const reads = changed.map((each): BuildStep => ({
    step: 'read',
    paths: each.files.map(({ name }) => fileOf(name)),
    many: each.key.includes('*'),
    kind: each.kind,
    schema: each.schema,
    table: each.table,
    settings: each.settings,
  }));
  const drops: BuildStep[] = dropped.length === 0 ? [] : [{ step: 'drop', tables: dropped }];
  return { steps: [...drops, ...reads], planned: [...drops.map(() => null), ...changed] };
}

const hasSameName = (planned: PlannedTable, entry: ManifestEntry | undefined): boolean =>
  entry !== undefined && entry.schema === planned.schema && entry.table === planned.table;

/** The manifest after the steps have run. A file that could not be read retains its previous tables. */
export function nextManifest(
  cache: string,
  plan: readonly PlannedTable[],
  manifest: Manifest | null,
  { planned }: Difference,
  built: readonly BuiltTable[],
  now: number,
): Manifest {
  const before = new Map(manifest?.entries.map((entry) => [entry.key, entry]));
  const results = new Map(built.map((each) => [planned[each.step]?.key, each]));
  const entries = plan.map((each): ManifestEntry => {
    const old = before.get(each.key);
    const result = results.get(each.key);
    if (result === undefined && old !== undefined) return old;
    const { key, schema, table, mark } = each;
    const common = { key, files: each.files.map(({ name }) => name), schema, table, mark };
    if (result !== undefined && result.error === null) {
      const { tables, rejected, rejected_rows, notes, offers, error } = result;
      return { ...common, tables, rejected, rejected_rows, notes, offers, error, imported_at: now };
    }
    const error = result?.error ?? { message: 'The file was not read.', line: null };
    const last = hasSameName(each, old) ? old : undefined;
    return {
      ...common,
      tables: last?.tables ?? [],
      rejected: [],
      rejected_rows: 0,
      notes: [],
      offers: [],
      error,
      imported_at: last?.imported_at ?? null,
    };
  });
  return { cache, entries };
}
