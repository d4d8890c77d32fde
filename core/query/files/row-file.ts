import type { Column, Row } from '#core/lib/sql/result.ts';
import { csvCell } from '#core/lib/csv.ts';
import { oneLine } from '#core/lib/text/wire-text.ts';

/** Writes rows as the bytes of one file. */
export interface RowFile {
  readonly mime_type: string;
  /** @param rows the next ones. Throws `too_large` for what the format does not hold. */
  write(rows: readonly Row[]): Uint8Array;
  /** The bytes after the last row. */
  end(): Uint8Array;
}

/** @param columns as callers see them. */
export type OpenRowFile = (columns: readonly Column[]) => RowFile;

/** The formats of a file with a whole result. Those that few installations use are loaded at their first use. */
const FORMATS = {
  csv: async () => openCsv,
  jsonl: async () => openJsonLines,
  parquet: async () => (await import('./parquet-file.ts')).openParquet,
  xlsx: async () => (await import('./xlsx-file.ts')).openXlsx,
} as const satisfies Readonly<Record<string, () => Promise<OpenRowFile>>>;
export type RowFileFormat = keyof typeof FORMATS;

export const rowFileOf = (format: RowFileFormat): Promise<OpenRowFile> => FORMATS[format]();

const NOTHING = new Uint8Array(0);

/** RFC 4180, with the same fields as a result of type CSV. */
function openCsv(columns: readonly Column[]): RowFile {
  const names = columns.map(({ name }) => name);
  let head = `${names.map(csvCell).join(',')}\r\n`;
  const withHead = (text: string): Uint8Array => {
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
      return withHead(text);
    },
    end: () => withHead(''),
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
