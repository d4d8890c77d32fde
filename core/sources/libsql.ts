import { AppError } from '#core/errors.ts';
import { openDeadline } from '#core/sources/deadline.ts';
import {
  fromHranaValue,
  type HranaColumn,
  type HranaStep,
  type HranaStream,
  openHranaStream,
  toHranaValue,
  toLibsqlError,
} from '#core/sources/libsql-stream.ts';
import { globContaining } from '#core/sources/letter-case.ts';
import { textOf, uniqueNames } from '#core/sources/rows.ts';
import { createSessionPool } from '#core/sources/session-pool.ts';
import type {
  BoundStatement,
  Column,
  ConnectionSettings,
  DialPolicy,
  QueryResult,
  Row,
  RunOptions,
  Source,
  TableFilter,
} from '#core/sources/source.ts';
import { COLUMNS_SQL, TABLES_SQL, toTable, toTableColumn } from '#core/sources/sqlite-catalogue.ts';
import { columnRule, type SqliteValue, toSqliteValue } from '#core/sources/sqlite-values.ts';

const OWN: RunOptions = { mode: 'read', timeout_ms: 10_000, max_rows: 5_000, max_bytes: 64 * 1024 * 1024 };
/** Texts of which the server already said that they only read. */
const KNOWN_TEXTS = 500;
const READING: ReadonlySet<string> = new Set(['select', 'with', 'values', 'explain']);
const WRITING: ReadonlySet<string> = new Set([
  ...READING,
  'insert',
  'replace',
  'update',
  'delete',
  'create',
  'drop',
  'alter',
  'reindex',
  'analyze',
]);

interface Found extends QueryResult {
  readonly error?: AppError;
}

/**
 * A libSQL server over HTTP. Every statement has a conversation of its own, at most `pool_size` at once. When we stop listening
 * the server stops between two rows; a step that works without giving rows ends at the server's own limit.
 */
export function openLibsql(settings: ConnectionSettings, policy: DialPolicy): Source {
  const known = new Set<string>();
  const goodbyes = new Set<Promise<void>>();
  const pool = createSessionPool<'stream', { usable: false; close(): Promise<void> }>({
    limit: settings.pool_size,
    idle_ms: 0,
    open: async () => ({ usable: false, close: async () => undefined }),
  });

  /** Saying goodbye takes a request of its own, for which no caller has to wait. */
  function leave(stream: HranaStream): void {
    const goodbye = stream.close().finally(() => goodbyes.delete(goodbye));
    goodbyes.add(goodbye);
  }

  async function converse<Result>(options: RunOptions, work: (stream: HranaStream, stop: AbortSignal) => Promise<Result>) {
    const deadline = openDeadline(options.timeout_ms, options.signal);
    try {
      return await pool.use('stream', deadline.signal, async () => {
        const stream = openHranaStream(settings, policy, deadline.signal);
        try {
          return await work(stream, deadline.signal);
        } finally {
          leave(stream);
        }
      });
    } finally {
      deadline.clear();
    }
  }

  async function read(
    stream: HranaStream,
    text: string,
    values: readonly SqliteValue[],
    options: RunOptions,
  ): Promise<QueryResult> {
    if (!known.has(text)) {
      const { cols, is_readonly } = await stream.describe(text);
      if (!is_readonly || cols.length === 0 || !READING.has(firstWord(text))) {
        throw new AppError('not_read_only', 'The statement writes or gives no rows, and this session only reads.');
      }
      if (known.size >= KNOWN_TEXTS) known.clear();
      known.add(text);
    }
    // The pragma may be refused by the server: its own word on the statement and the rollback remain.
    const steps = [
      step('PRAGMA query_only = 1'),
      step('BEGIN'),
      { ...step(text, values), condition: { type: 'ok', step: 1 } as const },
    ];
    const found = await fetch(stream, steps, 2, options, true);
    if (found.error) throw found.error;
    return found;
  }

  function query({ text, values, types }: BoundStatement, options: RunOptions): Promise<QueryResult> {
    const bound = values.map((value, i) => toSqliteValue(value, types[i] ?? 'string'));
    return converse(options, (stream, stop) =>
      options.mode === 'write' ? write(stream, text, bound, options, stop) : read(stream, text, bound, options),
    );
  }

  async function look(text: string, values: readonly SqliteValue[]): Promise<Row[]> {
    return (await converse(OWN, (stream) => read(stream, text, values, OWN))).rows;
  }

  return {
    query,
    async describe(text) {
      const { cols } = await converse(OWN, (stream) => stream.describe(text));
      return { columns: toColumns(cols), typed: false };
    },
    async tables(filter) {
      const rows = await look(TABLES_SQL, catalogueValues(filter));
      return { items: rows.filter((row) => row['name'] !== null).map(toTable), total: Number(rows[0]?.['total'] ?? 0) };
    },
    async columns({ schema, name }, filter) {
      const rows = await look(COLUMNS_SQL, [name, schema ?? 'main', ...catalogueValues(filter).slice(1)]);
      if (rows.length === 0) throw new AppError('not_found', 'There is no table of this name in the database.');
      return { items: rows.filter((row) => row['name'] !== null).map(toTableColumn), total: Number(rows[0]?.['total'] ?? 0) };
    },
    async test() {
      const [row] = await look('SELECT sqlite_version() AS version', []);
      const warnings = settings.ssl_mode === 'disable' ? ['The connection is not encrypted.'] : [];
      return { server_version: `libSQL (SQLite ${textOf(row?.['version'])})`, warnings };
    },
    sessions: () => pool.sessions(),
    async close() {
      await pool.close();
      await Promise.all(goodbyes);
    },
  };
}

async function write(stream: HranaStream, text: string, values: readonly SqliteValue[], options: RunOptions, stop: AbortSignal) {
  if (!WRITING.has(firstWord(text))) {
    throw new AppError('sql_error', 'This kind of statement is not allowed: it may only touch the tables of its own database.');
  }
  const steps = [step('BEGIN IMMEDIATE'), { ...step(text, values), condition: { type: 'ok', step: 0 } as const }];
  const found = await fetch(stream, steps, 1, options, false);
  if (found.error) throw found.error;
  stop.throwIfAborted();
  await stream.commit();
  return found;
}

/** The rows of the step `wanted`, up to the limits; `may_stop` ends the conversation there, else what is too much is dropped. */
async function fetch(
  stream: HranaStream,
  steps: readonly HranaStep[],
  wanted: number,
  { max_rows, max_bytes }: RunOptions,
  may_stop: boolean,
): Promise<Found> {
  const rows: Row[] = [];
  let columns: Column[] = [];
  let encoders: readonly ((value: SqliteValue) => string)[] = [];
  let bytes = 0;
  let truncated = false;
  let affected = 0;
  let current = -1;
  let error: AppError | undefined;
  const text = steps[wanted]?.stmt.sql ?? '';
  try {
    for await (const entry of stream.cursor(steps, may_stop ? max_bytes * 2 + 65_536 : Number.POSITIVE_INFINITY)) {
      if (entry.type === 'error') throw toLibsqlError(entry.error, text);
      if (entry.type === 'step_error' && (entry.step === wanted || entry.step === wanted - 1))
        error ??= toLibsqlError(entry.error, text);
      if (entry.type === 'step_begin') {
        current = entry.step;
        if (current === wanted) {
          columns = toColumns(entry.cols);
          encoders = entry.cols.map((column) => columnRule(column.decltype ?? null).encode);
        }
      }
      if (entry.type === 'step_end' && current === wanted) affected = entry.affected_row_count;
      if (entry.type !== 'row' || current !== wanted || truncated) continue;
      const line = columns
        .map(({ name }, i) => `${JSON.stringify(name)}:${encoders[i]!(fromHranaValue(entry.row[i]!))}`)
        .join(',');
      bytes += line.length + 3;
      truncated = rows.length >= max_rows || bytes > max_bytes;
      if (truncated && may_stop) break;
      if (!truncated) rows.push(JSON.parse(`{${line}}`) as Row);
    }
  } catch (failure) {
    if (!(failure instanceof AppError && failure.code === 'too_large')) throw failure;
    truncated = true;
  }
  const found = { columns, rows, truncated, affected_rows: columns.length > 0 ? null : affected };
  return error ? { ...found, error } : found;
}

function step(sql: string, values: readonly SqliteValue[] = []): HranaStep {
  return { stmt: { sql, args: values.map(toHranaValue), want_rows: true } };
}

function toColumns(cols: readonly HranaColumn[]): Column[] {
  const names = uniqueNames(cols.map((column) => column.name ?? ''));
  return cols.map(({ decltype }, i) => ({
    name: names[i]!,
    type: decltype ?? 'any',
    kind: columnRule(decltype ?? null).kind,
  }));
}

/** The keyword that decides what a statement is, behind blanks and comments. */
function firstWord(text: string): string {
  const start = /^(?:\s|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)*/.exec(text)?.[0].length ?? 0;
  return /^[a-z]+/i.exec(text.slice(start))?.[0].toLowerCase() ?? '';
}

function catalogueValues(filter: TableFilter): SqliteValue[] {
  const pattern = filter.search === undefined ? null : globContaining(filter.search);
  return [filter.schema ?? 'main', pattern, BigInt(filter.limit), BigInt(filter.skip)];
}
