import { DatabaseSync } from 'node:sqlite';
import { BIGINT, BLOB, DOUBLE, type DuckDBConnection, type DuckDBType, VARCHAR } from '@duckdb/node-api';
import { quoted, tableOf } from './text.ts';

const MOST_TABLES = 500;
const LONGEST_VALUE = 64 * 1024 * 1024;
const ROWS_PER_FLUSH = 10_000;

/**
 * Copies the tables of a SQLite file into a schema, which is replaced. @returns their names, and notes about what was skipped.
 */
export async function copySqlite(
  connection: DuckDBConnection,
  path: string,
  schema: string,
): Promise<{ names: string[]; notes: string[] }> {
  const database = new DatabaseSync(path, {
    readOnly: true,
    allowExtension: false,
    defensive: true,
    timeout: 2_000,
    limits: { attach: 0, length: LONGEST_VALUE },
  });
  try {
    database.exec('PRAGMA trusted_schema = 0; PRAGMA cell_size_check = 1; PRAGMA query_only = 1; BEGIN');
    const before = await connection.runAndReadAll('SELECT table_name FROM duckdb_tables() WHERE schema_name = $1', [schema]);
    for (const [name] of before.getRows()) await connection.run(`DROP TABLE ${tableOf({ schema, name: String(name) })}`);
    const found = database
      .prepare(
        `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name LIMIT ?`,
      )
      .all(MOST_TABLES + 1)
      .map(({ name }) => String(name));
    const names = found.slice(0, MOST_TABLES);
    const notes =
      found.length > MOST_TABLES ? [`Only the first ${MOST_TABLES} tables of the file were read, up to ${names.at(-1)}.`] : [];
    for (const name of names) await copyTable(connection, database, schema, name);
    return { names, notes };
  } finally {
    database.close();
  }
}

interface SqliteColumn {
  readonly name: string;
  readonly type: DuckDBType;
}

async function copyTable(connection: DuckDBConnection, database: DatabaseSync, schema: string, name: string): Promise<void> {
  const columns = columnsOf(database, name);
  const list = columns.map((column) => `${quoted(column.name)} ${String(column.type)}`).join(', ');
  await connection.run(`CREATE TABLE ${tableOf({ schema, name })} (${list})`);
  const appender = await connection.createAppender(name, schema);
  const select = database.prepare(`SELECT ${columns.map((column) => quoted(column.name)).join(', ')} FROM ${quoted(name)}`);
  select.setReturnArrays(true);
  select.setReadBigInts(true);
  let count = 0;
  // The declared type of a row does not know setReturnArrays.
  for (const row of select.iterate() as Iterable<(null | bigint | number | string | Uint8Array)[]>) {
    for (const [n, { type }] of columns.entries()) {
      const value = row[n] ?? null;
      if (value === null) appender.appendNull();
      else if (type === BIGINT) appender.appendBigInt(value as bigint);
      else if (type === DOUBLE) appender.appendDouble(Number(value));
      else if (type === BLOB) appender.appendBlob(value as Uint8Array);
      else appender.appendVarchar(value instanceof Uint8Array ? Buffer.from(value).toString('base64') : String(value));
    }
    appender.endRow();
    if (++count % ROWS_PER_FLUSH === 0) appender.flushSync();
  }
  appender.closeSync();
  // Deno (2.9) ends the rows of a damaged table as if they were all; counting them reports the damage.
  const [counted] = database.prepare(`SELECT count(*) AS n FROM ${quoted(name)} NOT INDEXED`).all();
  if (Number(counted?.['n']) !== count) throw new Error(`The table ${name} of the SQLite file cannot be read to its end.`);
}

/** Chooses a type that holds every value of a column: a SQLite column can store values of any type. */
function columnsOf(database: DatabaseSync, name: string): SqliteColumn[] {
  const names = database
    .prepare('SELECT name FROM pragma_table_info(?)')
    .all(name)
    .map((row) => String(row['name']));
  const kinds = names.map((column) => {
    const found = database.prepare(`SELECT DISTINCT ${kindOf(quoted(column))} AS kind FROM ${quoted(name)}`).all();
    return new Set(found.map(({ kind }) => String(kind)).filter((kind) => kind !== 'null'));
  });
  return names.map((column, n) => ({ name: column, type: typeOf(kinds[n]!) }));
}

/** The storage class, with a separate kind for integers that a double would change. */
const kindOf = (column: string): string =>
  `CASE WHEN typeof(${column}) = 'integer' AND ${column} NOT BETWEEN -9007199254740992 AND 9007199254740992 THEN 'wide' ELSE typeof(${column}) END`;

function typeOf(kinds: ReadonlySet<string>): DuckDBType {
  const only = (...allowed: string[]): boolean => kinds.size > 0 && [...kinds].every((kind) => allowed.includes(kind));
  if (only('integer', 'wide')) return BIGINT;
  if (only('integer', 'real')) return DOUBLE;
  return only('blob') ? BLOB : VARCHAR;
}
