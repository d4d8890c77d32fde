import { AppError } from '#core/errors.ts';
import { parseExactly } from '#core/lib/exact-json.ts';
import { boundedLines, boundedText } from '../shared/bounded-text.ts';
import { uniqueNames } from '../shared/rows.ts';
import type { Column, QueryResult, Row } from '#core/lib/sql/result.ts';
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

/**
 * Reads rows up to the limits from an answer in the format JSONCompact, which has one row per line. An error after the first rows
 * appears between them, on a line that is not a row.
 */
export async function takeRows(
  response: Response,
  sent: SentStatement,
  { max_rows, max_bytes }: { readonly max_rows: number; readonly max_bytes: number },
): Promise<QueryResult> {
  if (!response.ok) throw toClickhouseError(await boundedText(response, FAULT_CHARACTERS).catch(() => ''), sent);
  const rows: Row[] = [];
  let head = '';
  let columns: readonly Column[] | null = null;
  let decoders: readonly Decoder[] = [];
  let parse: (text: string) => unknown = JSON.parse;
  let bytes = 0;
  let state: 'head' | 'rows' | 'tail' | 'done' = 'head';
  let tail = 0;
  const ends = (truncated: boolean): QueryResult => ({ columns: columns ?? [], rows, truncated, affected_rows: null });
  try {
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
      } else if (state === 'rows') {
        if (text === '[') continue;
        if (text === ']' || text === '],') {
          state = 'tail';
          continue;
        }
        const values = rowIn(text, parse);
        if (values?.length !== decoders.length) throw toClickhouseError(text, sent);
        const row = Object.fromEntries(
          columns!.map(({ name }, i) => [name, values[i] == null ? null : decoders[i]!.decode(values[i])]),
        );
        bytes += text.length + 3;
        if (rows.length >= max_rows || bytes > max_bytes) return ends(true);
        rows.push(row);
      } else {
        if (/^"exception": "|^Code: \d+/.test(text)) throw toClickhouseError(text.replace(/^"exception": "/, ''), sent);
        if (++tail > TAIL_LINES) throw noAnswer();
        if (text === '}') state = 'done';
      }
    }
  } catch (error) {
    if (columns !== null && error instanceof AppError && error.code === 'too_large') return ends(true);
    throw error;
  }
  if (state === 'head') throw toClickhouseError(head, sent);
  if (state !== 'done') throw noAnswer();
  return ends(false);
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
