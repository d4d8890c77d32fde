import type { Column, Row } from '#core/lib/sql/result.ts';
import { csvCell } from '#core/lib/csv.ts';
import { oneLine } from '#core/lib/text/wire-text.ts';

/** Writes rows as the bytes of one file. */
export interface RowFile {
  readonly mime_type: string;
  /** @param rows of one part, in order. */
  write(rows: readonly Row[]): Uint8Array;
  /** The bytes after the last row. */
  end(): Uint8Array;
}

type Open = (columns: readonly Column[]) => RowFile;

/** The formats of a file with a whole result. */
const FORMATS = { csv: openCsv, jsonl: openJsonLines } as const satisfies Readonly<Record<string, Open>>;
export type RowFileFormat = keyof typeof FORMATS;

export const openRowFile = (format: RowFileFormat, columns: readonly Column[]): RowFile => FORMATS[format](columns);

const NOTHING = new Uint8Array(0);

/** RFC 4180, with the same fields as a result of type CSV. */
function openCsv(columns: readonly Column[]): RowFile {
  const names = columns.map(({ name }) => name);
  let head = `${names.map(csvCell).join(',')}\r\n`;
  const taken = (text: string): Uint8Array => {
    const bytes = Buffer.from(head + text);
    head = '';
    return bytes;
  };
  return {
    mime_type: 'text/csv; charset=utf-8; header=present',
    write(rows) {
      let text = '';
      for (const row of rows) {
        for (let n = 0; n < names.length; n++) {
          if (n > 0) text += ',';
          text += csvCell(row[names[n]!]);
        }
        text += '\r\n';
      }
      return taken(text);
    },
    end: () => taken(''),
  };
}

/** One JSON object per line, as in a structured result. */
function openJsonLines(): RowFile {
  return {
    mime_type: 'application/jsonl; charset=utf-8',
    write: (rows) => Buffer.from(rows.map((row) => `${oneLine(JSON.stringify(row))}\n`).join('')),
    end: () => NOTHING,
  };
}
