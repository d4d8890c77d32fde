import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { uniqueNames } from '../shared/rows.ts';
import type { Column } from '#core/lib/sql/result.ts';
import { createSqliteGuard, type SqlitePolicy } from './guard.ts';
import type { SqliteDescribed, SqliteFault, SqliteRows, SqliteRun } from './messages.ts';
import { columnRule, type SqliteValue } from './values.ts';

/** Statements kept compiled in one session. */
const CACHE_SIZE = 200;
/** Milliseconds that SQLite itself waits for another writer of the same file. */
const BUSY_TIMEOUT = 5_000;
/** Bytes of the longest text or blob, made or read: a repeated `zeroblob` must not eat the machine's memory. */
const LONGEST_VALUE = 256 * 1024 * 1024;
/** Blanks, semicolons and comments: what may stand behind the one statement. */
const NOTHING = /^(?:[\s;]|--[^\n]*(?:\n|$)|\/\*[\s\S]*?(?:\*\/|$))*$/;

export interface SqliteEngine {
  /** Runs one statement; with the `write` policy its transaction stays open until `commit`. */
  run(request: SqliteRun): SqliteRows;
  commit(): void;
  rollback(): void;
  describe(texts: readonly string[]): SqliteDescribed[];
  /** Undoes what is open and says what went wrong in plain data. */
  fault(error: unknown): SqliteFault;
}

interface Compiled {
  readonly statement: StatementSync;
  readonly columns: readonly Column[];
  readonly keys: readonly string[];
  readonly encoders: readonly ((value: SqliteValue) => string)[];
  readonly changesSchema: boolean;
}

/** Opens one database file with a handle that can do nothing but what the guard allows; `path` is absolute and checked. */
export function openSqliteEngine(path: string, writable: boolean): SqliteEngine {
  const guard = createSqliteGuard();
  const database = new DatabaseSync(path, {
    readOnly: !writable,
    allowExtension: false,
    defensive: true,
    timeout: BUSY_TIMEOUT,
    limits: { attach: 0, length: LONGEST_VALUE },
  });
  database.exec(`PRAGMA trusted_schema = 0; PRAGMA cell_size_check = 1; PRAGMA query_only = ${writable ? 0 : 1}`);
  const begin = database.prepare('BEGIN IMMEDIATE');
  const commit = database.prepare('COMMIT');
  const rollback = database.prepare('ROLLBACK');
  const schemaVersion = database.prepare('PRAGMA schema_version');
  const touchSchema = database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1');
  const total = database.prepare('SELECT total_changes() AS n');
  const last = database.prepare('SELECT changes() AS n');
  database.setAuthorizer(guard.authorize);
  let seen: unknown;
  const cache = new Map<string, Compiled>();

  function under<Result>(policy: SqlitePolicy, work: () => Result): Result {
    guard.policy.current = policy;
    try {
      return work();
    } finally {
      guard.policy.current = 'trusted';
    }
  }

  /** Another program may have changed the schema: only a statement that runs finds out, one that is prepared does not. */
  function followSchema(): void {
    const version = schemaVersion.get()?.['schema_version'];
    if (version === seen) return;
    seen = version;
    cache.clear();
    touchSchema.get();
  }

  function compile(text: string): Compiled {
    if (text.includes('\0')) throw new Error('The statement contains a NUL character; remove it.');
    guard.forget();
    const statement = database.prepare(text);
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
      changesSchema: guard.changesSchema(),
    };
  }

  function compiledFor(request: SqliteRun): Compiled {
    const key = `${request.policy}:${request.text}`;
    const known = cache.get(key);
    const compiled = known ?? compile(request.text);
    cache.delete(key);
    if (!compiled.changesSchema) cache.set(key, compiled);
    if (cache.size > CACHE_SIZE) cache.delete(cache.keys().next().value!);
    return compiled;
  }

  /** Rows of cascades and triggers are in the total alone. */
  const totalChanges = (): number => Number(total.get()?.['n']);

  function run(request: SqliteRun): SqliteRows {
    if (request.policy === 'write') begin.run();
    followSchema();
    if (request.counts !== true) return runOnce(request);
    const before = totalChanges();
    const found = runOnce(request);
    const all = totalChanges() - before;
    // What changes nothing leaves the count of the statement before.
    const direct = all === 0 ? 0 : Number(last.get()?.['n']);
    return { ...found, changes: { direct, all } };
  }

  function runOnce(request: SqliteRun): SqliteRows {
    return under(request.policy, () => {
      const compiled = compiledFor(request);
      if (compiled.columns.length > 0) return { columns: compiled.columns, ...fetch(compiled, request), affected_rows: null };
      const { changes } = compiled.statement.run(...request.values);
      const affected_rows = compiled.changesSchema ? 0 : Number(changes);
      return { columns: [], rows: '[]', truncated: false, affected_rows };
    });
  }

  function fault(error: unknown): SqliteFault {
    if (database.isTransaction) rollback.run();
    const refused = guard.refused();
    guard.forget();
    const message = error instanceof Error ? error.message : String(error);
    const code = error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode : null;
    return { message, code, refused };
  }

  return {
    run,
    commit: () => void commit.run(),
    rollback() {
      rollback.run();
      // What was prepared may have met a schema that is gone again.
      cache.clear();
    },
    describe(texts) {
      followSchema();
      return texts.map((text) => {
        try {
          return { columns: under('write', () => compile(text).columns) };
        } catch (error) {
          return { fault: fault(error) };
        }
      });
    },
    fault,
  };
}

/** SQLite compiles the first statement of a text and silently leaves the rest. */
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

function fetch({ statement, keys, encoders }: Compiled, request: SqliteRun): { rows: string; truncated: boolean } {
  let bytes = 0;
  const lines: string[] = [];
  // The declared type of a row does not know setReturnArrays.
  for (const row of statement.iterate(...request.values) as unknown as Iterable<SqliteValue[]>) {
    if (lines.length >= request.max_rows || bytes + sizeOf(row) > request.max_bytes)
      return { rows: `[${lines.join(',')}]`, truncated: true };
    let line = '';
    for (let i = 0; i < keys.length; i++) line += keys[i]! + encoders[i]!(row[i]!);
    bytes += line.length + 2;
    if (bytes > request.max_bytes) return { rows: `[${lines.join(',')}]`, truncated: true };
    lines.push(`${line}}`);
  }
  return { rows: `[${lines.join(',')}]`, truncated: false };
}

/** Bytes of the long values of a row, so that a giant one is not encoded only to be thrown away. */
function sizeOf(row: readonly SqliteValue[]): number {
  let size = 0;
  for (const value of row)
    if (typeof value === 'object' && value !== null) size += value.byteLength;
    else if (typeof value === 'string') size += value.length;
  return size;
}
