import { setTimeout as sleep } from 'node:timers/promises';
import { wellFormedJson } from '#core/lib/text/wire-text.ts';
import type { Json } from '#core/lib/sql/result.ts';

type Structured = Readonly<Record<string, Json>>;

/** Rows that are written in one go: about half a millisecond. */
const SLICE_ROWS = 500;
/** Between two slices: a long result takes a third of the time that there is, so that short calls find their turn. */
const PAUSE_MS = 1;

/** Whether writing it at once would keep other calls waiting. */
export const isLong = ({ rows }: Structured): boolean => Array.isArray(rows) && rows.length > SLICE_ROWS;

/** The members of a `tools/call` result of many rows, written in slices that let other calls through. */
export async function longMembers({ rows, ...rest }: Structured, note: string): Promise<string> {
  const list = Array.isArray(rows) ? rows : [];
  // What the other members are written as, after the opening brace.
  const tail = JSON.stringify(rest).slice(1);
  const close = tail === '}' ? ']}' : `],${tail}`;
  let json = '{"rows":[';
  let escaped = escape(json);
  for (let start = 0; start < list.length; start += SLICE_ROWS) {
    if (start > 0) await sleep(PAUSE_MS);
    const piece = wellFormedJson(JSON.stringify(list.slice(start, start + SLICE_ROWS))).slice(1, -1);
    const comma = start === 0 ? '' : ',';
    json += comma + piece;
    escaped += comma + escape(piece);
  }
  return `"content":[{"type":"text","text":"${escaped}${escape(close)}"}${note}],"structuredContent":${json}${close}`;
}

/** As it stands within a JSON string. */
const escape = (text: string): string => JSON.stringify(text).slice(1, -1);
