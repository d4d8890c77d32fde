import { columnRule, type MysqlField, type MysqlValue, toColumn } from './values.ts';
import { uniqueNames } from '../shared/rows.ts';
import type { Column, Json, QueryResult, Row } from '#core/lib/sql/result.ts';
import { UTC } from './extras.ts';

export interface MysqlRows {
  begin(fields: readonly MysqlField[]): void;
  /** False when no more rows are needed. */
  add(row: unknown): boolean;
  truncate(): void;
  /** Bytes of the rows since the last `take`, approximately. */
  bytes(): number;
  /** Removes the rows that were added so far. */
  take(): Row[];
  result(): QueryResult;
}

/**
 * Collects the rows of one statement up to its limits. Of a procedure with several results it takes the first that has rows.
 * Values of OUT and INOUT parameters arrive as a last result of one row.
 */
export function createMysqlRows(max_rows: number, max_bytes: number, offset = UTC): MysqlRows {
  const zone = offset === UTC ? 'Z' : offset;
  let columns: readonly Column[] | undefined;
  let names: readonly string[] = [];
  let encoders: readonly ReturnType<typeof columnRule>['encode'][] = [];
  let overhead = 0;
  let results = 0;
  let closed = false;
  let has_rows = false;
  let bytes = 0;
  let surplus = 0;
  let truncated = false;
  let affected = 0;
  const rows: Row[] = [];

  function begin(fields: readonly MysqlField[]): void {
    results++;
    closed = has_rows || truncated;
    if (closed) return;
    names = uniqueNames(fields.map((field) => field.name));
    columns = fields.map((field, i) => toColumn(names[i]!, field));
    encoders = fields.map((field) => columnRule(field).encode);
    overhead = names.reduce((sum, name) => sum + name.length + 5, 3);
  }

  function add(row: unknown): boolean {
    if (!Array.isArray(row)) {
      affected += (row as { affectedRows?: number } | null)?.affectedRows ?? 0;
      return true;
    }
    if (closed) return true;
    // The server stops one row after the limit, so the first excess row is also the last.
    if (truncated || rows.length >= max_rows) {
      truncated = true;
      return surplus++ === 0 && bytes <= max_bytes;
    }
    const encoded = encode(row as MysqlValue[]);
    if (bytes > max_bytes) {
      truncated = true;
      return false;
    }
    rows.push(encoded);
    has_rows = true;
    return true;
  }

  function encode(values: readonly MysqlValue[]): Row {
    const row: Row = {};
    bytes += overhead;
    for (let i = 0; i < names.length; i++) {
      const value = values[i]!;
      const encoder = encoders[i];
      const json = value === null || !encoder ? (value as Json) : encoder(value, zone);
      bytes += typeof json === 'string' ? json.length : typeof json === 'object' && json !== null ? sizeOf(value) : 8;
      // An assignment to this name would change the object's prototype.
      if (names[i] === '__proto__') Object.defineProperty(row, '__proto__', { value: json, enumerable: true });
      else row[names[i]!] = json;
    }
    return row;
  }

  return {
    begin,
    add,
    truncate: () => (truncated = true),
    bytes: () => bytes,
    take() {
      bytes = 0;
      return rows.splice(0);
    },
    result: () => ({
      columns: columns ?? [],
      rows,
      truncated,
      affected_rows: columns ? null : affected,
      ...(results > 1 && { results }),
    }),
  };
}

function sizeOf(value: MysqlValue): number {
  return typeof value === 'string' || Buffer.isBuffer(value) ? value.length : 32;
}

/** A type cast for the driver, which would otherwise turn points and lines into objects. */
export function keepGeometry(field: { readonly type: string; buffer(): Buffer }, next: () => unknown): unknown {
  return field.type === 'GEOMETRY' ? field.buffer() : next();
}
