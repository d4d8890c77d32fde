import type { Column } from '#core/lib/sql/result.ts';
import { csvCell } from '#core/lib/csv.ts';
import { oneLine } from '#core/lib/text/wire-text.ts';
import type { RowFile } from './row-file.ts';

const NOTHING = new Uint8Array(0);

/** RFC 4180, with the same fields as a result of type CSV. */
export function openCsv(columns: readonly Column[]): RowFile {
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
export function openJsonLines(): RowFile {
  return {
    mime_type: 'application/jsonl; charset=utf-8',
    write: (rows) => Buffer.from(rows.map((row) => `${oneLine(JSON.stringify(row))}\n`).join('')),
    end: () => NOTHING,
  };
}
