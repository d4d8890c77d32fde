import { copyFileSync, constants, rmSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { type DuckDBConnection, DuckDBInstance, type DuckDBResultReader } from '@duckdb/node-api';
import type { DuckdbQuestion } from '../messages.ts';
import { tidyColumns } from './columns.ts';
import { csvSources } from './csv.ts';
import { inUtf8 } from './encoding.ts';
import { longLine } from './lines.ts';
import type { BuildStep, BuiltTable, CachedTable, Rejected, TableName } from './plan.ts';
import { copySqlite } from './sqlite.ts';
import { FILENAME, pathsOf, quoted, type SourceText, tableOf } from './text.ts';

/** Settings of the program that builds a cache. It reads files and only runs internal statements. */
const SETTINGS: Record<string, string> = {
  threads: '2',
  memory_limit: '700MB',
  max_temp_directory_size: '20GB',
  autoinstall_known_extensions: 'false',
  autoload_known_extensions: 'false',
  allow_community_extensions: 'false',
  allow_unsigned_extensions: 'false',
  allow_persistent_secrets: 'false',
  errors_as_json: 'true',
  // Half the bytes, and for thousands of tables half the time, of the default format for old versions.
  storage_compatibility_version: 'v1.2.0',
};
/** Bytes of the smallest block size of DuckDB; the default is 256 KiB. */
const SMALL_BLOCK = '16384';
/** Below this average size of files the small block size is used. */
const SMALL_FILE = 256 * 1024;
const SHOWN_REJECTS = 20;
const OUT_OF_MEMORY = /out of memory|failed to allocate|could not allocate/i;
/** Messages of Linux for a full disk and for an exceeded quota. */
const NO_SPACE = /no space left on device|disk quota exceeded/i;
/** Maximum bytes of a JSON record; DuckDB buffers several of them at once. */
const MAX_OBJECT_BYTES = 16 * 1024 * 1024;

type ReadStep = Extract<BuildStep, { step: 'read' }>;
type BuildResult = Omit<BuiltTable, 'step'>;

/** Builds the cache, starting from a copy of the previous one if there is one. @param reading called before each step. */
export async function buildTables(
  { file, copy_of, steps }: Extract<DuckdbQuestion, { ask: 'build' }>,
  reading: (step: number) => void,
): Promise<BuiltTable[]> {
  if (copy_of !== null) copyFileSync(copy_of, file, constants.COPYFILE_FICLONE);
  const options = { ...SETTINGS, ...(copy_of === null && areSmall(steps) && { default_block_size: SMALL_BLOCK }) };
  const instance = await DuckDBInstance.create(file, { ...options, temp_directory: `${file}.tmp` });
  const connection = await instance.connect();
  await connection.run(`SET TimeZone = 'UTC'`);
  const built: BuiltTable[] = [];
  for (const [n, step] of steps.entries()) {
    reading(n);
    if (step.step === 'read') built.push({ step: n, ...(await readStep(connection, step, `${file}.text`)) });
    else for (const table of step.tables) await connection.run(`DROP TABLE IF EXISTS ${tableOf(table)}`);
  }
  await connection.run('CHECKPOINT');
  connection.closeSync();
  instance.closeSync();
  return built;
}

/** A table takes at least one block. Thousands of small tables would take gigabytes, which every change copies. */
function areSmall(steps: readonly BuildStep[]): boolean {
  const paths = steps.flatMap((step) => (step.step === 'read' ? step.paths : []));
  const sum = paths.reduce((bytes, path) => bytes + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0);
  return sum < SMALL_FILE * steps.length;
}

/** When a file cannot be read, its previous table stays. @param copies folder for copies of its files. */
async function readStep(connection: DuckDBConnection, step: ReadStep, copies: string): Promise<BuildResult> {
  await connection.run('BEGIN');
  try {
    await connection.run(`CREATE SCHEMA IF NOT EXISTS ${quoted(step.schema)}`);
    const outcome =
      step.table === null ? await readSqlite(connection, step) : await readFile(connection, step, step.table, copies);
    await connection.run('COMMIT');
    return outcome;
  } catch (error) {
    await connection.run('ROLLBACK').catch(() => undefined);
    // The file itself is fine; it is read again once there is space.
    if (NO_SPACE.test(String(error))) throw error;
    return { tables: [], rejected: [], rejected_rows: 0, notes: [], offers: [], error: sentenceOf(error, step, copies) };
  } finally {
    rmSync(copies, { recursive: true, force: true });
    if (step.kind === 'csv') await forgetRejects(connection);
  }
}

async function readSqlite(connection: DuckDBConnection, step: ReadStep): Promise<BuildResult> {
  const { names, notes } = await copySqlite(connection, step.paths[0]!, step.schema);
  const tables: CachedTable[] = [];
  for (const name of names) {
    const table = { schema: step.schema, name };
    tables.push(await describeTable(connection, table, await connection.runAndReadAll(`SELECT count(*) FROM ${tableOf(table)}`)));
  }
  return { tables, rejected: [], rejected_rows: 0, notes, offers: [], error: null };
}

/** Tries several ways to read a file and uses the first that works. A failed one leaves nothing behind. */
async function readFile(connection: DuckDBConnection, step: ReadStep, table: string, copies: string): Promise<BuildResult> {
  const fault = step.kind === 'csv' ? await longLine(step.paths) : null;
  if (fault !== null) return { tables: [], rejected: [], rejected_rows: 0, notes: [], offers: [], error: fault };
  const target = tableOf({ schema: step.schema, name: table });
  let first: unknown;
  for (const source of sourcesOf(step)) {
    if (first !== undefined) await forgetRejects(connection);
    try {
      const paths = step.kind === 'parquet' ? step.paths : await inUtf8(step.paths, source.encoding, copies);
      const count = await connection.runAndReadAll(`CREATE OR REPLACE TABLE ${target} AS ${source.sql(paths)}`);
      const offers = step.kind === 'csv' ? await tidyColumns(connection, { schema: step.schema, name: table }, step) : [];
      const described = await describeTable(connection, { schema: step.schema, name: table }, count);
      const { rejected, rejected_rows } = source.rejects ? await rejects(connection) : { rejected: [], rejected_rows: 0 };
      if (described.rows === 0 && rejected_rows > 0) throw new Error(rejected[0]?.reason ?? 'Every line was rejected.');
      const notes = source.note === null ? [] : [source.note];
      return { tables: [described], rejected, rejected_rows, notes, offers, error: null };
    } catch (error) {
      first ??= error;
      if (OUT_OF_MEMORY.test(String(error))) break;
      // A failed statement has already ended the transaction.
      await connection.run('ROLLBACK').catch(() => undefined);
      await connection.run('BEGIN');
      await connection.run(`CREATE SCHEMA IF NOT EXISTS ${quoted(step.schema)}`);
    }
  }
  throw first;
}

function sourcesOf(step: ReadStep): SourceText[] {
  if (step.kind === 'csv') return csvSources(step);
  const { many, settings } = step;
  const options = many ? ['union_by_name = true', 'filename = true'] : [];
  const read = (paths: string): string =>
    step.kind === 'parquet'
      ? `read_parquet(${[paths, ...options].join(', ')})`
      : `read_json(${[paths, ...options, 'sample_size = -1', `maximum_object_size = ${MAX_OBJECT_BYTES}`].join(', ')})`;
  const is_text = settings.as_text === true;
  const types = is_text ? [] : Object.entries(settings.types ?? {});
  const casts = types.map(([name, type]) => `CAST(${quoted(name)} AS ${type}) AS ${quoted(name)}`);
  const replaced = [...casts, ...(many ? [FILENAME] : [])];
  const rows = (paths: readonly string[]): string =>
    `SELECT *${replaced.length === 0 ? '' : ` REPLACE (${replaced.join(', ')})`} FROM ${read(pathsOf(paths))}`;
  const sql = (paths: readonly string[]) => (is_text ? `SELECT COLUMNS(*)::VARCHAR FROM (${rows(paths)})` : rows(paths));
  return [{ sql, encoding: settings.encoding, note: null, rejects: false }];
}

/**
 * Describes one table at a time: listing the columns of all tables takes longer with every table. @param count its only value is
 * the row count.
 */
async function describeTable(connection: DuckDBConnection, table: TableName, count: DuckDBResultReader): Promise<CachedTable> {
  const columns = await connection.runAndReadAll(`DESCRIBE ${tableOf(table)}`);
  return {
    ...table,
    rows: Number(count.getRows()[0]?.[0]),
    columns: columns.getRows().map(([column, type]) => ({ name: String(column), type: String(type) })),
  };
}

async function rejects(connection: DuckDBConnection): Promise<{ rejected: Rejected[]; rejected_rows: number }> {
  const first = await connection.runAndReadAll(
    `SELECT line, column_name, error_message FROM reject_errors ORDER BY line LIMIT ${SHOWN_REJECTS}`,
  );
  if (first.currentRowCount === 0) return { rejected: [], rejected_rows: 0 };
  const all = await connection.runAndReadAll('SELECT count(DISTINCT line) FROM reject_errors');
  const rejected_rows = Number(all.getRows()[0]?.[0]);
  const rejected = first.getRows().map(([line, column, reason]) => ({
    line: Number(line),
    column: column === null || column === undefined ? null : String(column),
    reason: reasonOf(String(reason)),
  }));
  return { rejected, rejected_rows };
}

function reasonOf(reason: string): string {
  const [, expected, found] = /^Expected Number of Columns: (\d+) Found: (\d+)/i.exec(reason) ?? [];
  if (expected !== undefined) return `The line has ${found} ${found === '1' ? 'value' : 'values'}; ${expected} are expected.`;
  return reason.split('\n')[0]!.trim();
}

/** Replacements for DuckDB messages that mention its internals. */
const PLAIN_SENTENCES: readonly (readonly [RegExp, string])[] = [
  [/not utf-8 encoded/i, 'The text is not UTF-8. Set the encoding of the file, or save it as UTF-8.'],
  [/maximum_object_size/i, 'A record of the file is longer than 16 MiB.'],
  [OUT_OF_MEMORY, 'The file needs more memory than importing may use.'],
  [/no magic bytes|too small to be a parquet file/i, 'This is not a Parquet file, or only a part of one. Export it again.'],
  [
    /error when sniffing file/i,
    'The columns could not be detected. Check that this is a CSV file, or set how it is read: delimiter, first line and encoding.',
  ],
];

async function forgetRejects(connection: DuckDBConnection): Promise<void> {
  for (const table of ['reject_errors', 'reject_scans'])
    await connection.run(`DROP TABLE IF EXISTS ${table}`).catch(() => undefined);
}

/** DuckDB's message without the path, its hints and its list of settings. */
function sentenceOf(error: unknown, { paths, kind }: ReadStep, copies: string): { message: string; line: number | null } {
  const text = error instanceof Error ? error.message : String(error);
  const start = text.indexOf('{"');
  let message = text;
  try {
    message = String((JSON.parse(text.slice(Math.max(0, start))) as Record<string, unknown>)['exception_message']);
  } catch {
    // The error has no JSON form.
  }
  const line = /\bon line:?\s*(\d+)|\bline (\d+)/i.exec(message);
  message = message.replaceAll(`${copies}/`, '');
  for (const path of paths) message = message.replaceAll(path, basename(path));
  const plain = PLAIN_SENTENCES.find(([pattern]) => pattern.test(message))?.[1];
  const sentence =
    plain ??
    (message
      .split('\n')
      .map((each) => each.trim())
      .filter((each) => each !== '' && !/^(?:CSV Error on Line|Original Line|Possible|\*|file =|[a-z_]+ =)/i.test(each))
      .slice(0, 2)
      .join(' ') ||
      `The file cannot be read as ${kind}.`);
  return { message: sentence.slice(0, 400), line: line ? Number(line[1] ?? line[2]) : null };
}
