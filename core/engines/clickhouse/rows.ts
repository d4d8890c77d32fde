import { AppError } from '#core/errors.ts';
import { parseExactly } from '#core/lib/exact-json.ts';
import { boundedLines, boundedText } from '../shared/bounded-text.ts';
import { LARGEST_ROW, PART_BYTES, PART_ROWS, uniqueNames } from '../shared/rows.ts';
import type { Column, QueryResult, Row } from '#core/lib/sql/result.ts';
import type { RowReceiver } from '#core/engines/shared/source.ts';
import { toClickhouseError } from './errors.ts';
import { parseType } from './types.ts';
import { type Decoder, decoderOf } from './values.ts';

export interface SentStatement {
  readonly text: string;
  /** Bytes that Sluice put before the author's SQL. */
  readonly before: number;
}

interface Meta {
  readonly name: string;
  readonly type: string;
}

/** Maximum characters of an error message. */
const FAULT_CHARACTERS = 64 * 1024;
/** Maximum lines after the rows: totals and counts. */
const TAIL_LINES = 10_000;

/** The columns of an answer come first, then each row with its size in the answer. */
type Item = { readonly columns: readonly Column[] } | { readonly row: Row; readonly bytes: number };

/** Reads rows up to the limits. */
export async function takeRows(
  response: Response,
  sent: SentStatement,
  { max_rows, max_bytes }: { readonly max_rows: number; readonly max_bytes: number },
): Promise<QueryResult> {
  const rows: Row[] = [];
  let columns: readonly Column[] | null = null;
  let bytes = 0;
  const ends = (truncated: boolean): QueryResult => ({ columns: columns ?? [], rows, truncated, affected_rows: null });
  try {
    for await (const item of itemsOf(response, sent, max_bytes)) {
      if ('columns' in item) {
        columns = item.columns;
        continue;
      }
      bytes += item.bytes;
      if (rows.length >= max_rows || bytes > max_bytes) return ends(true);
      rows.push(item.row);
    }
  } catch (error) {
    if (columns !== null && error instanceof AppError && error.code === 'too_large') return ends(true);
    throw error;
  }
  return ends(false);
}

/** Hands over all rows. The next bytes are read once a part was received. */
export async function sendRows(response: Response, sent: SentStatement, receiver: RowReceiver): Promise<void> {
  let part: Row[] = [];
  let bytes = 0;
  for await (const item of itemsOf(response, sent, LARGEST_ROW)) {
    if ('columns' in item) {
      receiver.begin(item.columns);
      continue;
    }
    part.push(item.row);
    bytes += item.bytes;
    if (part.length < PART_ROWS && bytes < PART_BYTES) continue;
    await receiver.rows(part);
    part = [];
    bytes = 0;
  }
  if (part.length > 0) await receiver.rows(part);
}

/**
 * Reads an answer in the format JSONCompact, which has one row per line. An error after the first rows appears between them, on a
 * line that is not a row. @param max_bytes of the columns and of one row.
 */
async function* itemsOf(response: Response, sent: SentStatement, max_bytes: number): AsyncGenerator<Item> {
  if (!response.ok) throw toClickhouseError(await boundedText(response, FAULT_CHARACTERS).catch(() => ''), sent);
  let head = '';
  let columns: readonly Column[] = [];
  let decoders: readonly Decoder[] = [];
  let parse: (text: string) => unknown = JSON.parse;
  let state: 'head' | 'rows' | 'tail' | 'done' = 'head';
  let tail = 0;
  for await (const line of boundedLines(response, max_bytes * 2 + FAULT_CHARACTERS)) {
    const text = line.trim();
    if (state === 'head') {
      head += text;
      if (head.length > max_bytes + FAULT_CHARACTERS) throw noAnswer();
      if (text !== '"data":') continue;
      const meta = metaIn(head);
      columns = columnsOf(meta);
      decoders = meta.map(({ type }) => decoderOf(parseType(type)));
      if (decoders.some(({ exact }) => exact)) parse = parseExactly;
      state = 'rows';
      yield { columns };
    } else if (state === 'rows') {
      if (text === '[') continue;
      if (text === ']' || text === '],') {
        state = 'tail';
        continue;
      }
      const values = rowIn(text, parse);
      if (values?.length !== decoders.length) throw toClickhouseError(text, sent);
      const row = Object.fromEntries(
        columns.map(({ name }, i) => [name, values[i] == null ? null : decoders[i]!.decode(values[i])]),
      );
      yield { row, bytes: text.length + 3 };
    } else {
      if (/^"exception": "|^Code: \d+/.test(text)) throw toClickhouseError(text.replace(/^"exception": "/, ''), sent);
      if (++tail > TAIL_LINES) throw noAnswer();
      if (text === '}') state = 'done';
    }
  }
  if (state === 'head') throw toClickhouseError(head, sent);
  if (state !== 'done') throw noAnswer();
}

function metaIn(head: string): Meta[] {
  try {
    const { meta } = JSON.parse(`${head}0}`) as { readonly meta: readonly Partial<Meta>[] };
    return meta.map(({ name, type }) => {
      if (typeof name !== 'string' || typeof type !== 'string') throw noAnswer();
      return { name, type };
    });
  } catch {
    throw noAnswer();
  }
}

function rowIn(text: string, parse: (text: string) => unknown): unknown[] | null {
  if (!text.startsWith('[')) return null;
  try {
    const values = parse(text.endsWith(',') ? text.slice(0, -1) : text);
    return Array.isArray(values) ? values : null;
  } catch {
    return null;
  }
}

export function columnsOf(described: readonly Meta[]): Column[] {
  const names = uniqueNames(described.map(({ name }) => name));
  return described.map(({ type }, i) => ({ name: names[i]!, type, kind: decoderOf(parseType(type)).kind }));
}

const noAnswer = (): AppError =>
  new AppError('database_unreachable', 'The server stopped during its answer; try again.', { reason: 'failed' });
