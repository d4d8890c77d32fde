import { AppError } from '#core/errors.ts';
import { fromHranaValue, type HranaColumn, type HranaStream, toHranaValue, toLibsqlError } from './stream.ts';
import { LARGEST_ROW, PART_BYTES, PART_ROWS, uniqueNames } from '../shared/rows.ts';
import type { Column, QueryResult, Row } from '#core/lib/sql/result.ts';
import type { RowReceiver, RunOptions } from '#core/engines/shared/source.ts';
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

/** What the answer to a statement contains, in this order; the number of changed rows is the last. */
type Item = { readonly columns: Column[] } | { readonly line: string } | { readonly affected: number };

/** Runs the statement and reads its rows up to the limits. The transaction stays open. */
export async function fetchRows(
  stream: HranaStream,
  transaction: Transaction,
  { max_rows, max_bytes }: RunOptions,
): Promise<QueryResult> {
  const { writes } = transaction;
  const rows: Row[] = [];
  let columns: Column[] = [];
  let bytes = 0;
  let truncated = false;
  let affected = 0;
  try {
    for await (const item of itemsOf(stream, transaction, max_bytes)) {
      if ('columns' in item) columns = item.columns;
      if ('affected' in item) ({ affected } = item);
      if (!('line' in item) || truncated) continue;
      bytes += item.line.length + 1;
      truncated = rows.length >= max_rows || bytes > max_bytes;
      if (truncated && !writes) break;
      if (!truncated) rows.push(JSON.parse(item.line) as Row);
    }
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'too_large')) throw error;
    if (writes) {
      throw new AppError('too_large', 'The statement returned a row beyond the byte limit, so it was rolled back; return less.');
    }
    truncated = true;
  }
  return { columns, rows, truncated, affected_rows: columns.length > 0 ? null : affected };
}

/** Runs the statement and hands over all rows. The transaction stays open. */
export async function sendRows(stream: HranaStream, transaction: Transaction, receiver: RowReceiver): Promise<void> {
  let part: Row[] = [];
  let bytes = 0;
  for await (const item of itemsOf(stream, transaction, LARGEST_ROW)) {
    if ('columns' in item) receiver.begin(item.columns);
    if (!('line' in item)) continue;
    part.push(JSON.parse(item.line) as Row);
    bytes += item.line.length;
    if (part.length < PART_ROWS && bytes < PART_BYTES) continue;
    await receiver.rows(part);
    part = [];
    bytes = 0;
  }
  if (part.length > 0) await receiver.rows(part);
}

/** @param max_bytes of one row. */
async function* itemsOf(stream: HranaStream, { begin, text, values }: Transaction, max_bytes: number): AsyncGenerator<Item> {
  const steps = [
    { stmt: { sql: begin, args: [], want_rows: false } },
    { stmt: { sql: text, args: values.map(toHranaValue), want_rows: true }, condition: { type: 'ok', step: 0 } as const },
  ];
  let columns: Column[] = [];
  let encoders: readonly ((value: SqliteValue) => string)[] = [];
  let current = -1;
  let has_ended = false;
  for await (const entry of stream.cursor(steps, max_bytes * 2 + 65_536)) {
    if (entry.type === 'error' || entry.type === 'step_error') throw toLibsqlError(entry.error, text);
    if (entry.type === 'step_begin') {
      current = entry.step;
      columns = toColumns(entry.cols);
      encoders = entry.cols.map((column) => columnRule(column.decltype ?? null).encode);
      if (current === STATEMENT) yield { columns };
    }
    if (current !== STATEMENT) continue;
    if (entry.type === 'step_end') {
      has_ended = true;
      yield { affected: entry.affected_row_count };
    }
    if (entry.type !== 'row') continue;
    const members = columns.map(({ name }, i) => `${JSON.stringify(name)}:${encoders[i]!(fromHranaValue(entry.row[i]!))}`);
    yield { line: `{${members.join(',')}}` };
  }
  if (has_ended) return;
  throw new AppError('database_unreachable', 'The server stopped during its answer; try again.', { reason: 'failed' });
}

export function toColumns(cols: readonly HranaColumn[]): Column[] {
  const names = uniqueNames(cols.map((column) => column.name ?? ''));
  return cols.map(({ decltype }, i) => ({
    name: names[i]!,
    type: decltype ?? 'any',
    kind: columnRule(decltype ?? null).kind,
  }));
}
