import {
  DuckDBConnection,
  DuckDBInstance,
  type DuckDBPreparedStatement,
  DuckDBTimestampTZValue,
  type DuckDBType,
  StatementType,
  version,
} from '@duckdb/node-api';
import { AppError } from '#core/errors.ts';
import { uniqueNames } from '../shared/rows.ts';
import type { BoundType, Column } from '#core/lib/sql/result.ts';
import { hasColumns, inferTypes } from './infer.ts';
import { sampleText, typedText } from './typed.ts';
import type { DuckdbDescribed, DuckdbFault, DuckdbPart, DuckdbRows, DuckdbRun, DuckdbText } from './requests.ts';
import { checkTree, READS_ONLY, RefusedStatement } from './tree.ts';
import { bindValue, encoderOf, kindOf, typeName } from './values.ts';

const UNKNOWN_COLUMNS =
  'DuckDB cannot tell the columns of this statement as long as a parameter has no type. Write a cast of it, such as CAST(:name AS INTEGER).';
/** Maximum of cached texts that passed the check. */
const CHECKED_TEXTS = 500;
/** Types that are bound as a numeric type of DuckDB. */
const NUMBERS: ReadonlySet<BoundType> = new Set<BoundType>(['integer', 'number', 'boolean']);
/** Milliseconds to wait for a program that writes the file. */
const LOCK_WAIT_MS = 2_000;

/** Disables everything that statements must not use, before the first one runs; the configuration is locked. */
const LOCKED: Record<string, string> = {
  access_mode: 'READ_ONLY',
  threads: '2',
  memory_limit: '256MB',
  // The order matters: after `enable_external_access` this setting is refused.
  temp_directory: '',
  max_temp_directory_size: '0B',
  autoinstall_known_extensions: 'false',
  autoload_known_extensions: 'false',
  allow_community_extensions: 'false',
  allow_unsigned_extensions: 'false',
  allow_persistent_secrets: 'false',
  enable_external_file_cache: 'false',
  errors_as_json: 'true',
  enable_external_access: 'false',
};

export interface DuckdbEngine {
  readonly version: string;
  run(request: DuckdbRun): Promise<DuckdbRows>;
  /** Starts a reading statement. Until its last part was read, no other statement runs. */
  stream(request: DuckdbRun): Promise<readonly Column[]>;
  part(): Promise<DuckdbPart>;
  describe(statements: readonly DuckdbText[]): Promise<(DuckdbDescribed | { readonly fault: DuckdbFault })[]>;
  /** Interrupts the running statement as soon as the engine reacts. */
  stop(): void;
  close(): void;
}

/** Opens one database file read-only. Every request has a separate connection. */
export async function openDuckdbEngine(path: string): Promise<DuckdbEngine> {
  // By default the library writes them in the time zone of the machine.
  DuckDBTimestampTZValue.timezoneOffsetInMinutes = 0;
  const instance = await openLocked(path);
  const checker = await instance.connect();
  const checked = new Set<string>();
  let running: DuckDBConnection | undefined;
  let stopped = false;

  async function connected<Result>(work: (connection: DuckDBConnection) => Promise<Result>): Promise<Result> {
    stopped = false;
    running = await instance.connect();
    try {
      return await work(running);
    } finally {
      running.closeSync();
      running = undefined;
    }
  }

  /** Reads the names in a text with DuckDB's parser, without running it. */
  async function check(text: string): Promise<void> {
    if (checked.has(text)) return;
    const reader = await checker.runAndReadAll('SELECT json_serialize_sql($1::VARCHAR)', [text]);
    checkTree(String(reader.getRows()[0]?.[0]));
    if (checked.size >= CHECKED_TEXTS) checked.clear();
    checked.add(text);
  }

  async function prepare(connection: DuckDBConnection, text: string, prefix = ''): Promise<DuckDBPreparedStatement> {
    if (text.includes('\0')) throw new RefusedStatement('The statement contains a NUL character; remove it.');
    await check(text);
    const prepared = await connection.prepare(prefix + text);
    const expected = prefix === '' ? StatementType.SELECT : StatementType.EXPLAIN;
    if (prepared.statementType !== expected) throw new RefusedStatement(READS_ONLY, true);
    return prepared;
  }

  async function bound(connection: DuckDBConnection, request: DuckdbRun): Promise<DuckDBPreparedStatement> {
    const trusted = request.policy === 'trusted';
    const prepared = trusted ? await connection.prepare(request.text) : await prepare(connection, request.text, request.prefix);
    for (const [n, value] of request.values.entries()) {
      if (n < prepared.parameterCount) bindValue(prepared, n + 1, value, request.types[n] ?? 'string');
    }
    if (stopped) throw new Error('INTERRUPT');
    return prepared;
  }

  const run = (request: DuckdbRun): Promise<DuckdbRows> =>
    connected(async (connection) => fetch(await bound(connection, request), request, () => stopped));

  let streamed: { readonly connection: DuckDBConnection; readonly rows: Chunks } | null = null;

  async function stream(request: DuckdbRun): Promise<readonly Column[]> {
    stopped = false;
    const connection = (running = await instance.connect());
    const rows = await openChunks(await bound(connection, request));
    streamed = { connection, rows };
    return rows.columns;
  }

  async function part(): Promise<DuckdbPart> {
    if (streamed === null) throw new Error('No statement is being read.');
    const lines = await streamed.rows.next();
    if (lines !== null) return { rows: `[${lines.join(',')}]`, is_last: false };
    streamed.connection.closeSync();
    streamed = null;
    return { rows: '[]', is_last: true };
  }

  /** A computed column has the type of the bound number, not the type that DuckDB inferred for the placeholder. */
  async function boundColumns(connection: DuckDBConnection, text: string, types: readonly BoundType[]): Promise<Column[] | null> {
    const numbers = types.map((type) => (NUMBERS.has(type) ? type : null));
    if (numbers.every((type) => type === null)) return null;
    try {
      return columnsOf(await prepare(connection, typedText(text, numbers)));
    } catch {
      return null;
    }
  }

  async function sampledColumns(
    connection: DuckDBConnection,
    { text, types }: DuckdbText,
    reads: DuckdbDescribed['reads'],
  ): Promise<Column[] | null> {
    const prepared = await prepare(connection, sampleText(text, types, reads)).catch(() => null);
    return prepared === null || !hasColumns(prepared) ? null : columnsOf(prepared);
  }

  async function describeOne(connection: DuckDBConnection, statement: DuckdbText): Promise<DuckdbDescribed> {
    const { prepared, text, reads } = await inferTypes((typed) => prepare(connection, typed), statement);
    const columns = hasColumns(prepared) ? columnsOf(prepared) : await sampledColumns(connection, statement, reads);
    if (columns === null) throw new RefusedStatement(UNKNOWN_COLUMNS);
    return { columns: (await boundColumns(connection, text, statement.types)) ?? columns, reads };
  }

  return {
    version: version(),
    run,
    stream,
    part,
    describe: (statements) =>
      connected(async (connection) => {
        const described: (DuckdbDescribed | { fault: DuckdbFault })[] = [];
        for (const statement of statements) {
          described.push(await describeOne(connection, statement).catch((error: unknown) => ({ fault: faultOf(error) })));
        }
        return described;
      }),
    stop() {
      stopped = true;
      running?.interrupt();
    },
    close() {
      checker.closeSync();
      instance.closeSync();
    },
  };
}

export function faultOf(error: unknown): DuckdbFault {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof RefusedStatement) return { message, refused: message, writes: error.writes };
  return { message, refused: error instanceof AppError ? error.detail : null, writes: false };
}

async function openLocked(path: string): Promise<DuckDBInstance> {
  const until = performance.now() + LOCK_WAIT_MS;
  for (;;) {
    try {
      const instance = await DuckDBInstance.create(path, LOCKED);
      const connection = await instance.connect();
      await connection.run(`SET GLOBAL TimeZone = 'UTC'`);
      await connection.run('SET GLOBAL lock_configuration = true');
      connection.closeSync();
      return instance;
    } catch (error) {
      if (performance.now() > until || !/lock/i.test(String(error))) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

function columnsOf(prepared: DuckDBPreparedStatement): Column[] {
  const numbers = Array.from({ length: prepared.columnCount }, (_, n) => n);
  return toColumns(
    numbers.map((n) => prepared.columnName(n)),
    numbers.map((n) => prepared.columnType(n)),
  );
}

function toColumns(names: readonly string[], types: readonly DuckDBType[]): Column[] {
  return uniqueNames(names).map((name, n) => ({ name, type: typeName(types[n]!), kind: kindOf(types[n]!) }));
}

/** The rows of a result as JSON objects, one chunk of the engine at a time; null after the last one. */
interface Chunks {
  readonly columns: readonly Column[];
  next(): Promise<string[] | null>;
}

async function openChunks(prepared: DuckDBPreparedStatement): Promise<Chunks> {
  const result = await prepared.stream();
  const types = result.columnTypes();
  const columns = toColumns(result.columnNames(), types);
  const keys = columns.map(({ name }, n) => `${n === 0 ? '{' : ','}${JSON.stringify(name)}:`);
  const encoders = types.map(encoderOf);
  return {
    columns,
    async next() {
      const chunk = await result.fetchChunk();
      if (chunk === null || chunk.rowCount === 0) return null;
      const vectors = types.map((_, n) => chunk.getColumnVector(n));
      return Array.from({ length: chunk.rowCount }, (_, row) => {
        let line = '';
        for (let n = 0; n < vectors.length; n++) line += keys[n]! + encoders[n]!(vectors[n]!.getItem(row));
        return `${line}}`;
      });
    },
  };
}

async function fetch(
  prepared: DuckDBPreparedStatement,
  { max_rows, max_bytes }: DuckdbRun,
  isStopped: () => boolean,
): Promise<DuckdbRows> {
  const result = await prepared.stream();
  const types = result.columnTypes();
  const columns = toColumns(result.columnNames(), types);
  const keys = columns.map(({ name }, n) => `${n === 0 ? '{' : ','}${JSON.stringify(name)}:`);
  const encoders = types.map(encoderOf);
  const lines: string[] = [];
  let bytes = 0;
  const answer = (truncated: boolean): DuckdbRows => ({ columns, rows: `[${lines.join(',')}]`, truncated });
  for (let chunk = await result.fetchChunk(); chunk !== null && chunk.rowCount > 0; chunk = await result.fetchChunk()) {
    if (isStopped()) throw new Error('INTERRUPT');
    const vectors = types.map((_, n) => chunk.getColumnVector(n));
    for (let row = 0; row < chunk.rowCount; row++) {
      if (lines.length >= max_rows) return answer(true);
      let line = '';
      for (let n = 0; n < vectors.length; n++) {
        line += keys[n]! + encoders[n]!(vectors[n]!.getItem(row));
        if (bytes + line.length > max_bytes) return answer(true);
      }
      bytes += line.length + 2;
      if (bytes > max_bytes) return answer(true);
      lines.push(`${line}}`);
    }
  }
  return answer(false);
}
