import { AppError } from '#core/errors.ts';
import { fromHranaValue, type HranaColumn, type HranaStream, toHranaValue, toLibsqlError } from './stream.ts';
import { uniqueNames } from '../shared/rows.ts';
import type { Column, QueryResult, Row } from '#core/lib/sql/result.ts';
import type { RunOptions } from '#core/engines/shared/source.ts';
import { columnRule, type SqliteValue } from '../sqlite/values.ts';

interface Transaction {
  /** The statement that opens the transaction. */
  readonly begin: 'BEGIN' | 'BEGIN IMMEDIATE';
  readonly text: string;
  readonly values: readonly SqliteValue[];
  /** A writing statement must complete, so its rows beyond the limits are dropped. */
  readonly writes: boolean;
}

const STATEMENT = 1;

/** Runs the statement and reads its rows up to the limits. The transaction stays open. */
export async function fetchRows(
  stream: HranaStream,
  { begin, text, values, writes }: Transaction,
  { max_rows, max_bytes }: RunOptions,
): Promise<QueryResult> {
  const steps = [
    { stmt: { sql: begin, args: [], want_rows: false } },
    { stmt: { sql: text, args: values.map(toHranaValue), want_rows: true }, condition: { type: 'ok', step: 0 } as const },
  ];
  const rows: Row[] = [];
  let columns: Column[] = [];
  let encoders: readonly ((value: SqliteValue) => string)[] = [];
  let bytes = 0;
  let truncated = false;
  let current = -1;
  let affected: number | undefined;
  try {
    for await (const entry of stream.cursor(steps, max_bytes * 2 + 65_536)) {
      if (entry.type === 'error' || entry.type === 'step_error') throw toLibsqlError(entry.error, text);
      if (entry.type === 'step_begin') {
        current = entry.step;
        columns = toColumns(entry.cols);
        encoders = entry.cols.map((column) => columnRule(column.decltype ?? null).encode);
      }
      if (entry.type === 'step_end' && current === STATEMENT) affected = entry.affected_row_count;
      if (entry.type !== 'row' || current !== STATEMENT || truncated) continue;
      const line = columns
        .map(({ name }, i) => `${JSON.stringify(name)}:${encoders[i]!(fromHranaValue(entry.row[i]!))}`)
        .join(',');
      bytes += line.length + 3;
      truncated = rows.length >= max_rows || bytes > max_bytes;
      if (truncated && !writes) break;
      if (!truncated) rows.push(JSON.parse(`{${line}}`) as Row);
    }
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'too_large')) throw error;
    if (writes) {
      throw new AppError('too_large', 'The statement returned a row beyond the byte limit, so it was rolled back; return less.');
    }
    truncated = true;
  }
  if (affected === undefined && !truncated) {
    throw new AppError('database_unreachable', 'The server stopped during its answer; try again.', {
      reason: 'failed',
    });
  }
  return { columns, rows, truncated, affected_rows: columns.length > 0 ? null : (affected ?? 0) };
}

export function toColumns(cols: readonly HranaColumn[]): Column[] {
  const names = uniqueNames(cols.map((column) => column.name ?? ''));
  return cols.map(({ decltype }, i) => ({
    name: names[i]!,
    type: decltype ?? 'any',
    kind: columnRule(decltype ?? null).kind,
  }));
}
