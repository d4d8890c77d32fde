import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { LARGEST_ROW, PART_BYTES, PART_ROWS, uniqueNames } from '../shared/rows.ts';
import type { Column } from '#core/lib/sql/result.ts';
import { createSqliteGuard, type SqlitePolicy } from './guard.ts';
import type { SqliteDescribed, SqliteFault, SqlitePart, SqliteRows, SqliteRun } from './messages.ts';
import { columnRule, type SqliteValue } from './values.ts';

/** Maximum of compiled statements that a session caches. */
const CACHE_SIZE = 200;
/** Milliseconds that SQLite waits for another writer of the same file. */
const BUSY_TIMEOUT = 5_000;
/** Maximum bytes of a text or blob, written or read: a repeated `zeroblob` must not exhaust the machine's memory. */
const LONGEST_VALUE = 256 * 1024 * 1024;
/** Whitespace, semicolons and comments, which may follow the statement. */
const NOTHING = /^(?:[\s;]|--[^\n]*(?:\n|$)|\/\*[\s\S]*?(?:\*\/|$))*$/;

export interface SqliteEngine {
  /** Runs one statement. With the `write` policy its transaction stays open until `commit`. */
  run(request: SqliteRun): SqliteRows;
  /** Starts a reading statement. Until its last part was read, no other statement runs. */
  stream(request: SqliteRun): readonly Column[];
  part(): SqlitePart;
  commit(): void;
  rollback(): void;
  describe(texts: readonly string[]): SqliteDescribed[];
  /** Rolls back an open transaction and returns the error as plain data. */
  fault(error: unknown): SqliteFault;
}

/** A statement whose rows are read in parts. */
interface Streamed {
  readonly compiled: Compiled;
  readonly policy: SqlitePolicy;
  readonly rows: Iterator<SqliteValue[]>;
}

interface Compiled {
  readonly statement: StatementSync;
  readonly columns: readonly Column[];
  readonly keys: readonly string[];
  readonly encoders: readonly ((value: SqliteValue) => string)[];
  readonly changesSchema: boolean;
}

export const openSqliteEngine = (path: string, writable: boolean): SqliteEngine => new OpenDatabase(path, writable);

/** Opens one database file with a handle that is limited by the guard. `path` is absolute and checked. */
class OpenDatabase implements SqliteEngine {
  readonly #guard = createSqliteGuard();
  readonly #database: DatabaseSync;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #rollback: StatementSync;
  readonly #schemaVersion: StatementSync;
  readonly #touchSchema: StatementSync;
  readonly #total: StatementSync;
  readonly #last: StatementSync;
  #seen: unknown;
  readonly #cache = new Map<string, Compiled>();
  #streamed: Streamed | null = null;
  #reports_faults: boolean | null = null;

  constructor(path: string, writable: boolean) {
    this.#database = new DatabaseSync(path, {
      readOnly: !writable,
      allowExtension: false,
      defensive: true,
      timeout: BUSY_TIMEOUT,
      limits: { attach: 0, length: LONGEST_VALUE },
    });
    this.#database.exec(`PRAGMA trusted_schema = 0; PRAGMA cell_size_check = 1; PRAGMA query_only = ${writable ? 0 : 1}`);
    this.#begin = this.#database.prepare('BEGIN IMMEDIATE');
    this.#commit = this.#database.prepare('COMMIT');
    this.#rollback = this.#database.prepare('ROLLBACK');
    this.#schemaVersion = this.#database.prepare('PRAGMA schema_version');
    this.#touchSchema = this.#database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1');
    this.#total = this.#database.prepare('SELECT total_changes() AS n');
    this.#last = this.#database.prepare('SELECT changes() AS n');
    this.#database.setAuthorizer(this.#guard.authorize);
  }

  run(request: SqliteRun): SqliteRows {
    if (request.policy === 'write') this.#begin.run();
    this.#followSchema();
    if (request.counts !== true) return this.#runOnce(request);
    const before = this.#totalChanges();
    const found = this.#runOnce(request);
    const all = this.#totalChanges() - before;
    // After a statement that changes nothing, SQLite still reports the count of the statement before.
    const direct = all === 0 ? 0 : Number(this.#last.get()?.['n']);
    return { ...found, changes: { direct, all } };
  }

  stream(request: SqliteRun): readonly Column[] {
    if (!this.#reportsFaults()) throw new Error(SILENT);
    this.#followSchema();
    const { policy } = request;
    return this.#under(policy, () => {
      const compiled = this.#compiledFor(request);
      const rows = compiled.columns.length > 0 ? valuesIn(compiled, request.values) : [];
      this.#streamed = { compiled, policy, rows: rows[Symbol.iterator]() };
      return compiled.columns;
    });
  }

  part(): SqlitePart {
    const streamed = this.#streamed;
    if (streamed === null) throw new Error('No statement is being read.');
    const part = this.#under(streamed.policy, () => nextPart(streamed));
    if (part.is_last) this.#streamed = null;
    return part;
  }

  fault(error: unknown): SqliteFault {
    if (this.#database.isTransaction) this.#rollback.run();
    const refused = this.#guard.refused();
    this.#guard.forget();
    const message = error instanceof Error ? error.message : String(error);
    const code = error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode : null;
    return { message, code, refused };
  }

  commit(): void {
    this.#commit.run();
  }

  rollback(): void {
    this.#rollback.run();
    // Statements may have been prepared with a schema that was rolled back.
    this.#cache.clear();
  }

  describe(texts: readonly string[]): SqliteDescribed[] {
    this.#followSchema();
    return texts.map((text) => {
      try {
        return { columns: this.#under('write', () => this.#compile(text).columns) };
      } catch (error) {
        return { fault: this.fault(error) };
      }
    });
  }

  #under<Result>(policy: SqlitePolicy, work: () => Result): Result {
    this.#guard.policy.current = policy;
    try {
      return work();
    } finally {
      this.#guard.policy.current = 'trusted';
    }
  }

  /** Deno (2.9) ends the rows of a statement that fails as if they were all. */
  #reportsFaults(): boolean {
    if (this.#reports_faults !== null) return this.#reports_faults;
    try {
      const rows = [...this.#database.prepare('SELECT abs(-9223372036854775807 - 1)').iterate()];
      this.#reports_faults = rows.length > 0;
    } catch {
      this.#reports_faults = true;
    }
    return this.#reports_faults;
  }

  /** Another process may have changed the schema. SQLite only notices that when it runs a statement, not when it prepares one. */
  #followSchema(): void {
    const version = this.#schemaVersion.get()?.['schema_version'];
    if (version === this.#seen) return;
    this.#seen = version;
    this.#cache.clear();
    this.#touchSchema.get();
  }

  #compile(text: string): Compiled {
    if (text.includes('\0')) throw new Error('The statement contains a NUL character; remove it.');
    this.#guard.forget();
    const statement = this.#database.prepare(text);
    checkAlone(text, statement);
    statement.setReturnArrays(true);
    statement.setReadBigInts(true);
    const described = statement.columns();
    const names = uniqueNames(described.map((column) => column.name));
    const rules = described.map((column) => columnRule(column.type));
    return {
      statement,
      columns: names.map((name, i) => ({ name, type: described[i]?.type ?? 'any', kind: rules[i]!.kind })),
      keys: names.map((name, i) => `${i === 0 ? '{' : ','}${JSON.stringify(name)}:`),
      encoders: rules.map((rule) => rule.encode),
      changesSchema: this.#guard.changesSchema(),
    };
  }

  #compiledFor(request: SqliteRun): Compiled {
    const key = `${request.policy}:${request.text}`;
    const known = this.#cache.get(key);
    const compiled = known ?? this.#compile(request.text);
    this.#cache.delete(key);
    if (!compiled.changesSchema) this.#cache.set(key, compiled);
    if (this.#cache.size > CACHE_SIZE) this.#cache.delete(this.#cache.keys().next().value!);
    return compiled;
  }

  /** Includes the rows of cascades and triggers. */
  #totalChanges(): number {
    return Number(this.#total.get()?.['n']);
  }

  #runOnce(request: SqliteRun): SqliteRows {
    return this.#under(request.policy, () => {
      const compiled = this.#compiledFor(request);
      if (compiled.columns.length > 0)
        return { columns: compiled.columns, ...fetch(compiled, request, this.#reportsFaults()), affected_rows: null };
      const { changes } = compiled.statement.run(...request.values);
      const affected_rows = compiled.changesSchema ? 0 : Number(changes);
      return { columns: [], rows: '[]', truncated: false, affected_rows };
    });
  }
}

const SILENT =
  'This host runs on a runtime that does not report when a SQLite statement fails after its first rows, so a file could be cut without notice. Use a host that runs on Bun.';

/** SQLite compiles the first statement of a text and silently ignores the rest. */
function checkAlone(text: string, statement: StatementSync): void {
  const compiled = sourceOf(statement);
  if (compiled === null) throw new Error('The statement is empty.');
  if (!text.startsWith(compiled) || !NOTHING.test(text.slice(compiled.length))) {
    throw new Error('Only one statement can be run at a time; remove what follows the first one.');
  }
}

function sourceOf(statement: StatementSync): string | null {
  try {
    return statement.sourceSQL;
  } catch {
    return null;
  }
}

/** The declared type of a row does not know setReturnArrays. */
const valuesIn = ({ statement }: Compiled, values: SqliteRun['values']): Iterable<SqliteValue[]> =>
  statement.iterate(...values) as Iterable<SqliteValue[]>;

/** @param reports_faults whether iterating throws when a statement fails after its first rows. */
function fetch(compiled: Compiled, request: SqliteRun, reports_faults: boolean): Fetched {
  if (reports_faults) return rowsWithin(valuesIn(compiled, request.values), compiled, request);
  // A statement that writes is run to its end in any case, and only once.
  const first = request.policy === 'write' ? null : rowsWithin(valuesIn(compiled, request.values), compiled, request);
  // These rows may have ended with a fault. Reading all of them reports it; a result that is too large was not read to its end.
  if (first?.truncated === true) return first;
  return rowsWithin(compiled.statement.all(...request.values) as unknown as SqliteValue[][], compiled, request);
}

interface Fetched {
  readonly rows: string;
  readonly truncated: boolean;
}

function rowsWithin(rows: Iterable<SqliteValue[]>, compiled: Compiled, request: SqliteRun): Fetched {
  let bytes = 0;
  const lines: string[] = [];
  for (const row of rows) {
    if (lines.length >= request.max_rows || bytes + sizeOf(row) > request.max_bytes)
      return { rows: `[${lines.join(',')}]`, truncated: true };
    const line = lineOf(row, compiled);
    bytes += line.length + 1;
    if (bytes > request.max_bytes) return { rows: `[${lines.join(',')}]`, truncated: true };
    lines.push(line);
  }
  return { rows: `[${lines.join(',')}]`, truncated: false };
}

function lineOf(row: readonly SqliteValue[], { keys, encoders }: Compiled): string {
  let line = '';
  for (let i = 0; i < keys.length; i++) line += keys[i]! + encoders[i]!(row[i]!);
  return `${line}}`;
}

function nextPart({ compiled, rows }: Streamed): SqlitePart {
  let bytes = 0;
  const lines: string[] = [];
  while (lines.length < PART_ROWS && bytes < PART_BYTES) {
    const next = rows.next();
    if (next.done === true) return { rows: `[${lines.join(',')}]`, is_last: true };
    if (sizeOf(next.value) > LARGEST_ROW) throw new Error(`The result has a row of more than ${LARGEST_ROW / 1024 / 1024} MiB.`);
    const line = lineOf(next.value, compiled);
    bytes += line.length;
    lines.push(line);
  }
  return { rows: `[${lines.join(',')}]`, is_last: false };
}

/** Bytes of the long values of a row, to skip a huge row before it is encoded. */
function sizeOf(row: readonly SqliteValue[]): number {
  let size = 0;
  for (const value of row)
    if (typeof value === 'object' && value !== null) size += value.byteLength;
    else if (typeof value === 'string') size += value.length;
  return size;
}
